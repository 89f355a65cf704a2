"""What tests of several rooms share: a test module imports from here, never from another."""
