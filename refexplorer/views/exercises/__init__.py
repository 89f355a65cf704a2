"""The exercises: the template editor, and tasks that are checked as one types.

`exercise_models` reads a task, `exercise_checks` judges an answer, `exercise_controller` answers.
"""
