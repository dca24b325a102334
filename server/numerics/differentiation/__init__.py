"""differentiation"""
