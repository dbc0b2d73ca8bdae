"""Why is it slower, or not faster?"""
