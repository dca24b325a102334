"""examination"""
