"""Python for a person's actions: `cells` that reproduce a picture."""
