"""How is advice written so that an engine takes it?"""
