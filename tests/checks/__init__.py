"""What verbs that judge a set must find, and must not; asked through the command line."""
