/**
 * Compiles collector selectors into functions. A collector matches if all fields of the selector match. An absent field
 * matches only `NotIn` and `DoesNotExist`. Names are case-sensitive.
 *
 * Globs are matched without regular expressions, because some regular expressions are very slow to match.
 */
import { hash } from 'node:crypto';
import type {
  CollectorExpression,
  CollectorSelector,
  CollectorVersionPolicySpec,
} from '../../api/generated/collector-version-policy.ts';
import { type BuildVersion, compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import { canonicalText } from '../../base/canonical-text.ts';
import { type Anchor, fieldText, type SelectorField } from '../../fleet/member-index.ts';
import type { Collector } from '../../service/collectors/upgrade-service.ts';

export type Matcher = (collector: Collector) => boolean;

/** Compiles a selector and its exclusions into a function. */
export function compileSelection(selector: CollectorSelector, exclude: readonly CollectorSelector[] = []): Matcher {
  const included = compileSelector(selector);
  const excluded = exclude.map(compileSelector);
  return (collector) => included(collector) && !excluded.some((matches) => matches(collector));
}

/**
 * Returns the selector's anchor: a simple condition that every matching collector meets. Only collectors that meet the
 * anchor need to be checked against the selector. Returns undefined if the selector has no such condition.
 */
export function anchorOf(selector: CollectorSelector): Anchor | undefined {
  const { matchNames = [], matchFields = {}, matchExpressions = [] } = selector;
  const anchors = [
    ...Object.entries(matchFields).map(([key, value]) => anchorOn(key, [value])),
    ...matchExpressions
      .filter(({ operator }) => operator === 'In')
      .map(({ key, values = [] }) => anchorOn(key, values)),
    ...(matchNames.length > 0 ? [anchorOnNames(matchNames)] : []),
  ];
  const isSelective = ({ field, prefixes }: Anchor) =>
    prefixes.length === 0 && (field === 'name' || field === 'hostName');
  const usable = anchors.filter(({ texts, prefixes }) => !texts.includes('') && !prefixes.includes(''));
  return usable.find(isSelective) ?? usable.find(({ prefixes }) => prefixes.length > 0) ?? usable[0];
}

function anchorOn(key: string, texts: readonly string[]): Anchor {
  return { field: key as SelectorField, texts, prefixes: [] };
}

/**
 * Returns the anchor for name patterns: the collector's name must equal one of the patterns, or begin with the text
 * before a pattern's first wildcard.
 */
function anchorOnNames(patterns: readonly string[]): Anchor {
  const isGlob = (pattern: string) => /[*?]/.test(pattern);
  return {
    field: 'name',
    texts: patterns.filter((pattern) => !isGlob(pattern)),
    prefixes: patterns.filter(isGlob).map((pattern) => pattern.slice(0, pattern.search(/[*?]/))),
  };
}

/** Returns a digest of a policy's selector and exclusions. */
export function nameSelection({
  selector,
  exclude = [],
}: Pick<CollectorVersionPolicySpec, 'selector' | 'exclude'>): string {
  return hash('sha256', canonicalText([selector, exclude]), 'hex').slice(0, 16);
}

function compileSelector(selector: CollectorSelector): Matcher {
  const tests: Matcher[] = [];
  const { matchNames, matchFields, matchExpressions } = selector;
  if (matchNames && matchNames.length > 0) {
    tests.push((collector) => matchNames.some((pattern) => matchesGlob(pattern, collector.name)));
  }
  for (const [key, value] of Object.entries(matchFields ?? {})) {
    tests.push((collector) => fieldText(collector, key as SelectorField) === value);
  }
  for (const expression of matchExpressions ?? []) tests.push(compileExpression(expression));
  return (collector) => tests.every((test) => test(collector));
}

function compileExpression({ key, operator, values = [] }: CollectorExpression): Matcher {
  const exists: Matcher = (collector) => fieldText(collector, key) !== undefined;
  const isIn: Matcher = (collector) => {
    const text = fieldText(collector, key);
    return text !== undefined && values.includes(text);
  };
  switch (operator) {
    case 'In':
      return isIn;
    case 'NotIn':
      return (collector) => !isIn(collector);
    case 'Exists':
      return exists;
    case 'DoesNotExist':
      return (collector) => !exists(collector);
    default:
      return compileComparison(values, comparisons[operator]);
  }
}

const comparisons = {
  Lt: (order: number) => order < 0,
  Lte: (order: number) => order <= 0,
  Gt: (order: number) => order > 0,
  Gte: (order: number) => order >= 0,
};

/** Compiles a comparison of versions, such as `Gt`, into a matcher. A version that cannot be parsed never matches. */
function compileComparison(values: readonly string[], holds: (order: number) => boolean): Matcher {
  const bound: BuildVersion | undefined = parseBuildVersion(values[0] ?? '');
  return (collector) => {
    const version = parseBuildVersion(collector.collectorVersion ?? '');
    return bound !== undefined && version !== undefined && holds(compareBuildVersions(version, bound));
  };
}

/** Reports whether a glob matches the text. `*` matches any number of characters, and `?` matches one code point. */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let place = 0;
  let star = -1;
  let retry = 0;
  while (at < text.length) {
    if (pattern[place] === '*') {
      star = place++;
      retry = at;
    } else if (pattern[place] === '?') {
      place++;
      at += unitsAt(text, at);
    } else if (pattern[place] === text[at]) {
      place++;
      at++;
    } else if (star >= 0) {
      place = star + 1;
      retry += unitsAt(text, retry);
      at = retry;
    } else {
      return false;
    }
  }
  while (pattern[place] === '*') place++;
  return place === pattern.length;
}

/** Returns the number of UTF-16 code units of the character at this position. */
function unitsAt(text: string, at: number): number {
  return (text.codePointAt(at) as number) > 0xff_ff ? 2 : 1;
}
