"""Jobs of keras with the torch backend."""
from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

keras.utils.set_random_seed(3)
keras.config.disable_interactive_logging()


def job_images():
    keras.utils.set_random_seed(3)
    model = keras.Sequential([
        keras.layers.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.BatchNormalization(), keras.layers.MaxPooling2D(),
        keras.layers.Flatten(), keras.layers.Dropout(0.2), keras.layers.Dense(3, activation="softmax"),
    ])  # fmt: skip
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    rng = np.random.default_rng(0)
    x, y = rng.random((16, 8, 8, 1), "float32"), rng.integers(0, 3, 16)
    history = model.fit(x, y, epochs=2, batch_size=8, verbose=0, shuffle=False)
    model.save("model.keras")
    back = keras.saving.load_model("model.keras")
    return history.history, model.predict(x, verbose=0), back.evaluate(x, y, verbose=0)


def job_sequences():
    keras.utils.set_random_seed(3)
    inputs = keras.Input((6,), dtype="int32")
    hidden = keras.layers.Embedding(20, 8)(inputs)
    hidden = keras.layers.MultiHeadAttention(2, 4)(hidden, hidden)
    hidden = keras.layers.LSTM(8, return_sequences=True)(keras.layers.LayerNormalization()(hidden))
    out = keras.layers.Dense(1)(keras.layers.GRU(4)(hidden))
    model = keras.Model(inputs, out)
    model.compile(keras.optimizers.AdamW(1e-2), "mse")
    x = np.arange(48).reshape(8, 6) % 20
    history = model.fit(x, x[:, :1] / 20.0, epochs=2, batch_size=4, verbose=0, shuffle=False)
    return history.history, model.predict(x, verbose=0)


def job_ops():
    a = keras.ops.convert_to_tensor(np.arange(12, dtype="float32").reshape(3, 4))
    return [keras.ops.softmax(a), keras.ops.einsum("ij,kj->ik", a, a), keras.ops.top_k(a, 2)[0], keras.ops.segment_sum(a, np.array([0, 0, 1])),
            keras.ops.image.resize(keras.ops.reshape(a, (1, 3, 4, 1)), (6, 8)), keras.ops.scatter(np.array([[1]]), np.ones(1, "float32"), (3,)),
            keras.ops.scan(lambda c, x: (c + x, c * x), keras.ops.zeros(4), a)[1]]  # fmt: skip
