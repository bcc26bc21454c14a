/**
 * Checks a CollectorVersionPolicy for problems that neither the schema nor CEL rules can detect. The spec must already
 * be valid according to both, but its defaults need not be set.
 */
import { parseBuildVersion } from '../base/build-version.ts';
import { error, type Finding, warning } from './finding.ts';
import type { CollectorExpression, CollectorSelector, Target } from './generated/collector-version-policy.ts';
import type { JsonPath } from './json-path.ts';
import { checkRollout, type WrittenRollout } from './rollout-check.ts';

/** Spec of a policy as users write it. Fields that have a default may be absent. */
interface WrittenPolicySpec extends WrittenRollout {
  readonly target: Target;
  readonly selector: CollectorSelector;
  readonly exclude?: readonly CollectorSelector[] | null;
}

/**
 * Returns errors and warnings about a policy's spec. Without the current time `wallMs`, skips checks that depend on it.
 */
export function checkPolicy(spec: WrittenPolicySpec, wallMs?: number): readonly Finding[] {
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
    yield warning(['spec', 'target', 'versionPattern'], 'Risky', {
      problem: `no version can be ${versionPattern}`,
      remedy: 'use a glob, for example 19.*',
    });
  }
  const parts = version ? parseBuildVersion(version) : undefined;
  if (!version || !parts) return;
  const plain = `${parts.major}.${parts.minor}-${parts.build}`;
  if (plain !== version) {
    yield warning(['spec', 'target', 'version'], 'Risky', {
      problem:
        'the version has leading zeros, so it differs from the same version without them: the service compares versions as text',
      remedy: `use ${plain}`,
    });
  }
}

function* checkExclusion(selector: CollectorSelector, path: JsonPath): Generator<Finding> {
  if (Object.keys(selector).length === 0) {
    yield warning(path, 'NoEffect', {
      problem: 'excludes every collector',
      remedy: 'set matchNames, matchFields or matchExpressions in the selector, or delete the empty selector',
    });
  }
  yield* checkSelector(selector, path);
}

function* checkSelector(selector: CollectorSelector, path: JsonPath): Generator<Finding> {
  for (const [name, member] of Object.entries(selector) as [string, unknown][]) {
    if (member !== null) continue;
    yield error([...path, name], 'Invalid', {
      problem: `${name} of the selector is null, which matches every collector, as if ${name} were absent`,
      remedy: 'set its items, or delete it',
      subject: 'key',
    });
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

/** Warns about a glob that looks like a regular expression. */
function* checkGlob(glob: string, path: JsonPath): Generator<Finding> {
  if (!regularExpressionSigns.test(glob)) return;
  yield warning(path, 'Risky', {
    problem: `${JSON.stringify(glob)} looks like a regular expression, but names are matched by globs`,
    remedy: 'use * for any characters and ? for one, for example web-*',
  });
}

function* checkExpression({ key, operator, values }: CollectorExpression, path: JsonPath): Generator<Finding> {
  if (operator !== 'In' && operator !== 'NotIn') return;
  for (const [index, value] of (values ?? []).entries()) yield* checkFieldValue(key, value, [...path, 'values', index]);
}

function* checkFieldValue(field: string, value: string, path: JsonPath): Generator<Finding> {
  if (field === 'collectorVersion' && parseBuildVersion(value) === undefined) {
    yield warning(path, 'Risky', {
      problem: `${JSON.stringify(value)} is not a collector version, so no collector matches this value`,
      remedy: 'use a version such as 19.253-26',
    });
  }
  if (field === 'collectorType' && value === 'Hosted') {
    yield warning(path, 'Risky', {
      problem: 'hosted collectors have no version and are never upgraded',
      remedy: 'use Installable, or leave it out',
    });
  }
  if (/[*?]/.test(value)) {
    const isName = field === 'name';
    yield warning(path, 'Risky', {
      problem: `${JSON.stringify(value)} is compared literally`,
      remedy: isName
        ? 'move it to matchNames, which allows wildcards'
        : 'write the whole value, because wildcards are allowed only in matchNames',
    });
  }
}
