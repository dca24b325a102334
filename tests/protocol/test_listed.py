from gradloupe.server.protocol.listed import counted


def test_what_is_there_twice_is_counted():
    assert counted(["a tensor", "x", "a tensor", "an output"]) == ["2 tensors", "x", "an output"]
