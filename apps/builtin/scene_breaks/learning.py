"""Learn the network's weights from labelled passages. The same passages give the same weights."""

from collections.abc import Iterable, Sequence

import numpy as np

from apps.builtin.scene_breaks.inputs import DIMENSIONS, VECTORS, inputs_of
from apps.builtin.scene_breaks.network import Array, Network, sigmoid
from apps.extraction.steps.scene_detection import SceneTurn

COMPONENTS = 128  # number of principal components kept of each vector
VECTOR_SCALE = 20.0  # about the square root of DIMENSIONS: brings vectors to the size of features
MIN_SCALE = 1e-6  # minimum standard deviation of an informative feature
HIDDEN_UNITS = 16
ENSEMBLE_SIZE = 6  # networks trained from different starts; their mean varies less than each of them
EPOCHS = 40
BATCH_SIZE = 128
LEARNING_RATE = 0.003
WEIGHT_DECAY = 0.002  # weight of the L2 regularisation
DROPOUT = 0.3  # share of inputs left out at random in training
MEAN_DECAY, SQUARE_DECAY, MIN_STEP_SCALE = 0.9, 0.999, 1e-8  # of Adam, as its authors recommend
START_BIAS = -1.0  # most messages begin no scene


def learn(passages: Iterable[tuple[Sequence[SceneTurn], frozenset[int]]]) -> Network:
    """Learn from passages with the positions at which scenes begin. Raise EmbeddingUnavailable."""
    labelled = [(turns, starts) for turns, starts in passages if len(turns) > 1]
    inputs = np.vstack([inputs_of(turns) for turns, _ in labelled])
    labels = np.array([float(i in starts) for turns, starts in labelled for i in range(1, len(turns))])
    return train(inputs, labels, projection_of(inputs))


def projection_of(inputs: Array) -> Array:
    """Return the matrix that standardises features and keeps the principal components of each vector."""
    features_end = inputs.shape[1] - VECTORS * DIMENSIONS
    scales = inputs[:, :features_end].std(axis=0)
    projection = np.zeros((inputs.shape[1], features_end + VECTORS * COMPONENTS))
    projection[:features_end, :features_end] = np.diag(1 / np.where(scales < MIN_SCALE, 1.0, scales))
    for number in range(VECTORS):
        start, column = features_end + number * DIMENSIONS, features_end + number * COMPONENTS
        vectors = inputs[:, start : start + DIMENSIONS]
        projection[start : start + DIMENSIONS, column : column + COMPONENTS] = _principal_components(vectors)
    return projection


def _principal_components(vectors: Array) -> Array:
    _, axes = np.linalg.eigh(np.cov(vectors.T))  # in ascending order of variance
    return VECTOR_SCALE * axes[:, ::-1][:, :COMPONENTS]


def train(inputs: Array, labels: Array, projection: Array) -> Network:
    """Learn from rows of ``inputs`` with the labels 0 and 1. ``projection`` reduces centred rows before the training.

    The mean of several networks equals one wider network, which is returned.
    """
    means = inputs.mean(axis=0)
    projected = (inputs - means) @ projection
    members = [_train_one(projected, labels, seed) for seed in range(ENSEMBLE_SIZE)]
    hidden, hidden_bias, output, linear, bias = zip(*members, strict=True)
    return Network(
        means=means,
        hidden=projection @ np.hstack(hidden),
        hidden_bias=np.concatenate(hidden_bias),
        output=np.concatenate(output) / ENSEMBLE_SIZE,
        linear=projection @ np.mean(linear, axis=0),
        bias=np.mean(bias, axis=0),
    )


def _train_one(inputs: Array, labels: Array, seed: int) -> list[Array]:
    """Return the weights that minimise the cross entropy, found with Adam."""
    random = np.random.default_rng(seed)
    size = inputs.shape[1]
    weights: list[Array] = [
        random.normal(size=(size, HIDDEN_UNITS)) / np.sqrt(size),
        np.zeros(HIDDEN_UNITS),
        random.normal(size=HIDDEN_UNITS) / np.sqrt(HIDDEN_UNITS),
        np.zeros(size),
        np.array(START_BIAS),
    ]
    mean, square = [np.zeros_like(one) for one in weights], [np.zeros_like(one) for one in weights]
    step = 0
    for epoch in range(EPOCHS):
        order = random.permutation(len(inputs))
        for start in range(0, len(order), BATCH_SIZE):
            rows = order[start : start + BATCH_SIZE]
            kept = inputs[rows] * (random.random((len(rows), size)) > DROPOUT) / (1 - DROPOUT)
            step += 1
            for number, gradient in enumerate(_gradients(weights, kept, labels[rows])):
                mean[number] = MEAN_DECAY * mean[number] + (1 - MEAN_DECAY) * gradient
                square[number] = SQUARE_DECAY * square[number] + (1 - SQUARE_DECAY) * gradient**2
                step_size = LEARNING_RATE * (1 - epoch / EPOCHS)
                step_size *= np.sqrt(1 - SQUARE_DECAY**step) / (1 - MEAN_DECAY**step)
                weights[number] = weights[number] - step_size * mean[number] / (
                    np.sqrt(square[number]) + MIN_STEP_SCALE
                )
    return weights


def _gradients(weights: list[Array], inputs: Array, labels: Array) -> list[Array]:
    hidden_weights, hidden_bias, output, linear, bias = weights
    hidden = np.tanh(inputs @ hidden_weights + hidden_bias)
    errors = (sigmoid(hidden @ output + inputs @ linear + bias) - labels) / len(inputs)
    back = np.outer(errors, output) * (1 - hidden**2)
    return [
        inputs.T @ back + WEIGHT_DECAY * hidden_weights,
        back.sum(axis=0),
        hidden.T @ errors + WEIGHT_DECAY * output,
        inputs.T @ errors + WEIGHT_DECAY * linear,
        errors.sum(),
    ]
