"""The exercises: the template editor with tasks that are checked as you type.

`exercise_models` reads a task, `answers` opens an answer and compares two sets, `exercise_checks`
judges it and grades answer files, `exercise_controller` handles requests.
"""
