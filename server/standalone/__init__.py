"""standalone"""
