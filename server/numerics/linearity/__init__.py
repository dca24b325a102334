"""linearity"""
