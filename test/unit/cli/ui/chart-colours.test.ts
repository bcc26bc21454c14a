/** Tests that chart colours can be told apart with normal sight and with each kind of colour blindness. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { collectorStates } from '../../../../src/cli/render/bars.ts';

type Vector = readonly number[];
type Matrix = readonly Vector[];

/**
 * Matrices that convert linear RGB colours to the colours that people perceive, with normal sight or with a kind of
 * colour blindness (Machado, Oliveira and Fernandes 2009, severity 1).
 */
const sights: Readonly<Record<string, Matrix>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

/** Conversion from linear RGB to OKLab (Björn Ottosson 2020). */
const toCones: Matrix = [
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
];
const toLab: Matrix = [
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
];

const times = (matrix: Matrix, vector: Vector): Vector =>
  matrix.map((row) => row.reduce((sum, factor, index) => sum + factor * (vector[index] ?? 0), 0));

function linear(hex: string): Vector {
  const channels = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255);
  return channels.map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
}

const labOf = (rgb: Vector): Vector => times(toLab, times(toCones, rgb).map(Math.cbrt));

/** Returns the distance in OKLab, in which the distance from black to white is 1. */
function distance(left: string, right: string, sight: Matrix): number {
  const [from, to] = [left, right].map((hex) => {
    const seen = times(sight, linear(hex)).map((value) => Math.min(1, Math.max(0, value)));
    return labOf(seen);
  });
  return Math.hypot(...(from ?? []).map((value, index) => value - (to?.[index] ?? 0)));
}

const css = readFileSync(new URL('../../../../src/cli/ui/page/page.css', import.meta.url), 'utf8');
const colours = new Map(
  [...css.matchAll(/--(\w+): light-dark\((#\w{6}), (#\w{6})\);/g)].map(([, name = '', light = '', dark = '']) => [
    name,
    { light, dark },
  ]),
);
const states = collectorStates.map(({ member }) => member);
const pairs = states.flatMap((left, index) => states.slice(index + 1).map((right) => [left, right] as const));

/**
 * Minimum distance between two colours. Smaller differences are hard to see between small areas, such as the squares in
 * a legend.
 */
const minDistance = 0.1;

test.each(Object.keys(sights).flatMap((sight) => (['light', 'dark'] as const).map((theme) => [sight, theme] as const)))(
  'any two states of collectors have different colours: %s, %s',
  (sight, theme) => {
    const alike = pairs.filter(([left, right]) => {
      const [one, other] = [colours.get(left)?.[theme] ?? '', colours.get(right)?.[theme] ?? ''];
      return !(distance(one, other, sights[sight] ?? []) >= minDistance);
    });
    expect(alike).toEqual([]);
  },
);

test.each(['light', 'dark'] as const)('the shades of former versions differ in brightness: %s', (theme) => {
  const [base, panel] = ['version', 'panel'].map((name) => labOf(linear(colours.get(name)?.[theme] ?? ''))[0] ?? 0);
  expect(Math.abs((base ?? 0) - (panel ?? 0)) * 0.12).toBeGreaterThan(0.06);
});
