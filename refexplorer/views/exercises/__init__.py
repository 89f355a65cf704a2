"""The exercises: the template editor, and tasks that are checked as one types.

`exercise_models` reads a task, `answers` tries a text and compares two sets, `exercise_checks`
judges it, `exercise_controller` answers.
"""
