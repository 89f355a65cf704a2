"""Python for what a person did and sees.

`statements` has one line for each action, `cells` what makes a picture again.
"""
