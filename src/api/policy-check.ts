/**
 * What neither schema nor CEL can say about a CollectorVersionPolicy: what an API server takes and nobody means. Looks at the
 * manifest as it was written, without defaults, once schema and rules have nothing against it.
 */
import { parseBuildVersion } from '../base/build-version.ts';
import { type Finding, warning } from './finding.ts';
import type { CollectorExpression, CollectorSelector, Target } from './generated/collector-version-policy.ts';
import type { JsonPath } from './json-path.ts';
import { checkRollout, type WrittenRollout } from './rollout-check.ts';

/** A spec as people write it: what has a default may be absent. */
interface WrittenSpec extends WrittenRollout {
  readonly target: Target;
  readonly selector: CollectorSelector;
  readonly exclude?: readonly CollectorSelector[] | null;
}

/** @param wallMs the time of day, for what depends on it; without it nothing does */
export function checkPolicy(spec: WrittenSpec, wallMs?: number): readonly Finding[] {
  return [
    ...checkTarget(spec.target),
    ...checkSelector(spec.selector, ['spec', 'selector']),
    ...(spec.exclude ?? []).flatMap((selector, index) => [...checkExclusion(selector, ['spec', 'exclude', index])]),
    ...(spec.strategy?.stages ?? []).flatMap(({ selector }, index) =>
      selector ? [...checkSelector(selector, ['spec', 'strategy', 'stages', index, 'selector'])] : [],
    ),
    ...checkRollout(spec, wallMs),
  ];
}

function* checkTarget({ version, versionPattern }: Target): Generator<Finding> {
  if (versionPattern && !/[*?]/.test(versionPattern) && !parseBuildVersion(versionPattern)) {
    yield warning(['spec', 'target', 'versionPattern'], `no version is ${versionPattern}; write a glob, as in 19.*`);
  }
  const parts = version ? parseBuildVersion(version) : undefined;
  if (!version || !parts) return;
  const plain = `${parts.major}.${parts.minor}-${parts.build}`;
  if (plain !== version) {
    const message = `has leading zeros, and the service compares texts; write ${plain}`;
    yield warning(['spec', 'target', 'version'], message);
  }
}

function* checkExclusion(selector: CollectorSelector, path: JsonPath): Generator<Finding> {
  if (Object.keys(selector).length === 0) {
    yield warning(path, 'leaves out every collector; write matchNames, matchFields or matchExpressions, or delete it');
  }
  yield* checkSelector(selector, path);
}

function* checkSelector(selector: CollectorSelector, path: JsonPath): Generator<Finding> {
  for (const [name, member] of Object.entries(selector) as [string, unknown][]) {
    if (member !== null) continue;
    const message = 'is empty, which counts as left out and so matches every collector; write its items, or delete it';
    yield { severity: 'error', path: [...path, name], part: 'key', message };
  }
  for (const [index, glob] of (selector.matchNames ?? []).entries()) {
    yield* checkGlob(glob, [...path, 'matchNames', index]);
  }
  for (const [field, value] of Object.entries(selector.matchFields ?? {})) {
    yield* checkFieldValue(field, value, [...path, 'matchFields', field]);
  }
  for (const [index, expression] of (selector.matchExpressions ?? []).entries()) {
    yield* checkExpression(expression, [...path, 'matchExpressions', index]);
  }
}

const regularExpressionSigns = /^\^|\$$|\.\*|\.\+|\\[.dws]|\(.*\|.*\)|\[[^\]]+\]|(?<!\*)\+$/;

/** Names are matched by globs; what looks like a regular expression will match next to nothing. */
function* checkGlob(glob: string, path: JsonPath): Generator<Finding> {
  if (!regularExpressionSigns.test(glob)) return;
  const message = `${JSON.stringify(glob)} looks like a regular expression, and this is a glob; write * for any characters and ? for one, as in web-*`;
  yield warning(path, message);
}

function* checkExpression({ key, operator, values }: CollectorExpression, path: JsonPath): Generator<Finding> {
  if (operator !== 'In' && operator !== 'NotIn') return;
  for (const [index, value] of (values ?? []).entries()) yield* checkFieldValue(key, value, [...path, 'values', index]);
}

function* checkFieldValue(field: string, value: string, path: JsonPath): Generator<Finding> {
  if (field === 'collectorVersion' && parseBuildVersion(value) === undefined) {
    yield warning(path, `no collector has the version ${JSON.stringify(value)}; write one as in 19.253-26`);
  }
  if (field === 'collectorType' && value === 'Hosted') {
    yield warning(path, 'hosted collectors have no version and are never upgraded; write Installable, or leave it out');
  }
  if (field !== 'name' && /[*?]/.test(value)) {
    const message = `${JSON.stringify(value)} is compared as it stands; globs are for matchNames only, so write the whole value`;
    yield warning(path, message);
  } else if (field === 'name' && /[*?]/.test(value)) {
    yield warning(
      path,
      `${JSON.stringify(value)} is compared as it stands; write it under matchNames, which takes globs`,
    );
  }
}
