"""The exercises: the template editor, and tasks that are checked as one types.

`exercise_models` reads a task, `given_answer` tries a text, `exercise_checks` judges it
(`same_references` compares two sets), `stages` says how much of it is told, `exercise_controller`
answers.
"""
