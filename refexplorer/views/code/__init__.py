"""Python for what a person did and sees: `cells` that make a picture again."""
