"""A capture is plain data: it comes back as it was saved, and what is no capture is refused in a sentence."""

import json
import os
import zipfile

import pytest
import torch
from support.watched_functions import STORED

import gradloupe
from gradloupe.server.capture.record import BadCapture, read_capture
from gradloupe.server.capture.samples import numbers, sample_of


@pytest.fixture
def saved(tmp_path):
    with gradloupe.watch() as seen:
        STORED(torch.linspace(-2, 2, 50, requires_grad=True), -1.0, 1.0).sum().backward()
    return seen, seen.save(tmp_path / "step")


def test_a_saved_capture_is_the_one_that_was_seen(saved):
    seen, path = saved
    read, made = read_capture(path), seen.capture
    assert path.suffix == ".gradloupe"
    assert json.dumps(read.record) == json.dumps(made.record)
    assert read.numbers == made.numbers
    (tensor,) = [each["tensor"] for each in read.record["sites"][0]["arguments"] if each["tensor"]]
    assert numbers(read, tensor["values"]).tolist() == torch.linspace(-2, 2, 50).double().tolist()


def test_without_values_it_has_quantiles_and_no_tensors(saved, tmp_path):
    seen, _ = saved
    read = read_capture(seen.save(tmp_path / "lent.gradloupe", values=False))
    (site,) = read.record["sites"]
    assert site["arguments"] == []
    held = sample_of(read, [site], "input")
    assert (len(held), held[0], held[50], held[100]) == (101, -2, pytest.approx(0, abs=1e-6), 2)


def test_no_path_outside_of_the_folder_is_told(saved):
    _, path = saved
    said = zipfile.ZipFile(path).read("capture.json").decode()
    assert os.path.dirname(__file__) not in said.replace(os.getcwd(), "")
    assert os.getcwd() not in said


def changed(path, **members):
    with zipfile.ZipFile(path) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()} | members
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def said(path, change):
    record = json.loads(zipfile.ZipFile(path).read("capture.json"))
    change(record)
    return json.dumps(record).encode()


def of_tensor(path, **words):
    return said(path, lambda each: each["sites"][0]["arguments"][0]["tensor"].update(words))


BAD = {
    "cut in half": (lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "is cut off"),
    "no zip": (lambda path: path.write_bytes(b"hello"), "is no capture"),
    "10 GB": (lambda path: os.truncate(path, 10 << 30), "at most 512"),
    "a bomb": (lambda path: changed(path, **{"capture.json": bytes((1 << 24) + 1)}), "unpacks to more than 16 MiB"),
    "no JSON": (lambda path: changed(path, **{"capture.json": b"{"}), "cannot be read"),
    "deep": (lambda path: changed(path, **{"capture.json": b"[" * 100_000}), "cannot be read"),
    "another shape": (lambda path: changed(path, **{"capture.json": b'{"format": 1}'}), "no capture says"),
    "newer": (lambda path: changed(path, **{"capture.json": b'{"format": 2}'}), "newer Gradloupe"),
    "numbers elsewhere": (
        lambda path: changed(
            path,
            **{"capture.json": said(path, lambda each: each["sites"][0]["slots"][0]["values"].update(start=1 << 40))},
        ),
        "not where it says",
    ),
    "negative": (
        lambda path: changed(path, **{"capture.json": said(path, lambda each: each["sites"][0].update(calls=-1))}),
        "not where it says",
    ),
    "lying shape": (
        lambda path: changed(path, **{"capture.json": of_tensor(path, shape=[10**9, 10**9])}),
        "not where it says",
    ),
    "another dtype": (lambda path: changed(path, **{"capture.json": of_tensor(path, dtype="load")}), "no capture says"),
    "endless": (lambda path: changed(path, **{"capture.json": of_tensor(path, shape=[0, 2**70])}), "not where it says"),
    "not there": (lambda path: path.unlink(), "name a file that is there"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_capture_is_refused_in_one_sentence(saved, what):
    _, path = saved
    spoil, sentence = BAD[what]
    spoil(path)
    with pytest.raises(BadCapture, match=sentence) as refused:
        read_capture(path)
    assert str(refused.value).count(". ") == 0
