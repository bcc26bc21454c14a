/**
 * What an API server would say about a resource, without one, and what it could not say: metadata, schema, CEL rules, and the
 * kind's own second thoughts, in this order. Hosts without an API server refuse what has an error here.
 *
 * Loads ajv and the CEL engine: import it lazily where it may not be needed.
 */
import { unreachable } from '../base/assert.ts';
import { evaluateRules } from './cel.ts';
import { applyDefaults } from './defaults.ts';
import { nearest } from './did-you-mean.ts';
import { checkExport, checkRange } from './export-check.ts';
import type { Finding } from './finding.ts';
import { isWithin, type JsonPath, valueAt } from './json-path.ts';
import { apiGroup, type KindName, kinds, ledgerAmongManifests, ledgerKind } from './kinds.ts';
import { checkMetadata } from './metadata-check.ts';
import { checkPolicy } from './policy-check.ts';
import { checkSchema } from './schema-check.ts';
import { schemaOf } from './structural-schema.ts';

export type { Finding };

/** The kind of a document that is one of logfleet's, in whichever version; undefined for all others. */
export function kindOf(document: unknown): KindName | undefined {
  if (typeof document !== 'object' || document === null) return undefined;
  const { apiVersion, kind } = document as { readonly apiVersion?: unknown; readonly kind?: unknown };
  if (typeof apiVersion !== 'string' || apiVersion.split('/')[0] !== apiGroup) return undefined;
  return typeof kind === 'string' && Object.hasOwn(kinds, kind) ? (kind as KindName) : undefined;
}

const kindNames = Object.keys(kinds);

/**
 * What is wrong with the kind or the API version of a document that is meant for logfleet, by either of the two; undefined where both
 * are right, and for the documents of others. A document that is no object is meant for nobody.
 */
export function misnamedKind(document: unknown): Finding | undefined {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    const message = 'is no manifest: a document of a manifest is an object; write apiVersion, kind and metadata';
    return { severity: 'error', path: [], part: 'value', message };
  }
  const { apiVersion, kind } = document as { readonly apiVersion?: unknown; readonly kind?: unknown };
  const isOurGroup = String(apiVersion).split('/')[0] === apiGroup;
  const isOurKind = kindNames.includes(String(kind));
  if (isOurGroup === isOurKind) return undefined;
  if (isOurKind) {
    const message = `${String(kind)} is a kind of ${apiGroup}; write apiVersion: ${apiGroup}/v1alpha1`;
    return { severity: 'error', path: ['apiVersion'], part: 'value', message };
  }
  const written = String(kind ?? '');
  if (written === ledgerKind)
    return { severity: 'error', path: ['kind'], part: 'value', message: ledgerAmongManifests };
  const meant = nearest(written, kindNames) ?? kindNames.join(' or ');
  const message = `${apiGroup} has no kind ${JSON.stringify(written)}; did you mean ${meant}?`;
  return { severity: 'error', path: ['kind'], part: 'value', message };
}

/**
 * Everything that is wrong or odd about a resource of this kind as somebody wrote it; empty when it is fine. With `previous`, as
 * a change of that resource; with `wallMs`, by that time of day, without it whatever the time.
 */
export function validateResource(
  kind: KindName,
  document: object,
  previous?: object,
  wallMs?: number,
): readonly Finding[] {
  const resource = applyDefaults(kind, document);
  const findings = [...checkMetadata(document as Readonly<Record<string, unknown>>), ...checkSchema(kind, resource)];
  const refused = findings.map(({ path }) => path);
  const older = previous === undefined ? undefined : applyDefaults(kind, previous);
  const violations = evaluateRules(schemaOf(kind), resource, older, (path) => isTouched(path, refused));
  for (const { path, message } of violations) {
    findings.push({ severity: 'error', path, part: 'value', message: ofRule(message, valueAt(resource, path)) });
  }
  if ('status' in document) {
    const message = 'is written by logfleet alone and will be ignored; leave it out';
    findings.push({ severity: 'warning', path: ['status'], part: 'key', message });
  }
  const errors = findings.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) {
    // Whoever mends one mistake is not to meet the next only then.
    const isReadable =
      kind === 'SearchExport' &&
      !isTouched(
        ['spec', 'timeRange'],
        errors.map(({ path }) => path),
      );
    return isReadable ? [...findings, ...checkRange(specOf(document))] : findings;
  }
  return [...findings, ...secondThoughts(kind, document, wallMs)];
}

function secondThoughts(kind: KindName, document: object, wallMs: number | undefined): readonly Finding[] {
  switch (kind) {
    case 'CollectorVersionPolicy':
      return checkPolicy((document as { readonly spec: Parameters<typeof checkPolicy>[0] }).spec, wallMs);
    case 'SearchExport':
      return checkExport(specOf(document), wallMs);
    default:
      return unreachable(kind);
  }
}

function specOf(document: object): Parameters<typeof checkExport>[0] {
  return (document as { readonly spec: Parameters<typeof checkExport>[0] }).spec;
}

/** A rule about a value that the schema refuses, or one that holds such a value, would only repeat it in other words. */
function isTouched(path: JsonPath, refused: readonly JsonPath[]): boolean {
  return refused.some((bad) => isWithin(bad, path) || isWithin(path, bad));
}

/** A rule says what to write, and where that is not plain enough what is wrong before it; else it is the value. */
function ofRule(message: string, value: unknown): string {
  const [, what, fix] = /^(?:(.+?): )?((?:write|leave) .+)$/s.exec(message) ?? [];
  if (fix === undefined) return message;
  const isShort = typeof value === 'string' || typeof value === 'number';
  return `${what ?? (isShort ? `${JSON.stringify(value)} is not allowed` : 'is not as it must be')}; ${fix}`;
}
