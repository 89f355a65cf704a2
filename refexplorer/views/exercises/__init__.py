"""The exercises: the template editor, and tasks that are checked as one types.

`exercise_models` reads a task, `exercise_checks` judges an answer (`same_references` compares two
sets), `stages` says how much of it is told, `exercise_controller` answers.
"""
