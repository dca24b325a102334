"""The contract X-ray: what autograd expects of a Function and says nothing about, each put to one working call."""
