"""What is shown, without saying where: controllers, their models, static HTML and text."""
