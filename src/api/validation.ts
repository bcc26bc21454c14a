/**
 * Validates a resource without an API server. Checks the metadata, the schema and the CEL rules. Then finds problems
 * that neither the schema nor CEL rules can detect.
 *
 * This module loads ajv and the CEL engine, so import it lazily.
 */

import { isRecord, type JsonObject } from '../base/record.ts';
import { evaluateRules } from './cel.ts';
import { nearest, resembles } from './did-you-mean.ts';
import { checkExport, checkRange } from './export-check.ts';
import { checkExportSchedule } from './export-schedule-check.ts';
import { type Explanation, error, type Finding, warning } from './finding.ts';
import { isWithin, type JsonPath, valueAt } from './json-path.ts';
import { apiGroup, type KindName, kindNames, kinds, ledgerKind, apiVersion as ownVersion } from './kinds.ts';
import { checkMetadata } from './metadata-check.ts';
import { isSettingsManifest, settingsName } from './operator-settings.ts';
import { checkPolicy } from './policy-check.ts';
import { scheduleProblem, timeZoneProblem } from './schedule-check.ts';
import { schemaChecker } from './schema-check.ts';
import { applyDefaults, schemas } from './schemas.ts';

/** Returns the kind of a logfleet document of any API version. */
export function kindOf(document: unknown): KindName | undefined {
  if (!isRecord(document)) return undefined;
  const { apiVersion, kind } = document;
  if (typeof apiVersion !== 'string' || apiVersion.split('/')[0] !== apiGroup) return undefined;
  return typeof kind === 'string' && Object.hasOwn(kinds, kind) ? (kind as KindName) : undefined;
}

/** Returns an error if a document is not an object, or if the kind or API version is misspelt (D1). */
export function misnamedKind(document: unknown): Finding | undefined {
  if (!isRecord(document)) {
    return error([], 'Invalid', {
      problem: 'is not a manifest, because it is not a mapping',
      remedy: 'add apiVersion, kind and metadata',
    });
  }
  const { apiVersion, kind, metadata } = document;
  // A List that is empty or inside another List is an error, because kubectl rejects it. All other Lists have already
  // been replaced with their items.
  if (apiVersion === 'v1' && kind === 'List') {
    return error([], 'Invalid', {
      problem: 'is a List without items, or inside another List',
      remedy: 'write its items as separate documents',
    });
  }
  if (kindOf(document) || isSettingsManifest(document)) return undefined;
  const written = String(kind ?? '');
  if (Object.hasOwn(kinds, written)) {
    return error(['apiVersion'], 'Unknown', {
      problem: `${written} is a kind of ${apiGroup}`,
      remedy: `set ${rightVersion}`,
    });
  }
  const isSettingsName = isRecord(metadata) && metadata['name'] === settingsName;
  if (isSettingsName && (kind === undefined || resembles(written, 'ConfigMap'))) {
    const problem = `${settingsName} is a ConfigMap with apiVersion v1`;
    return error(['kind'], 'Unknown', { problem, remedy: 'set apiVersion: v1 and kind: ConfigMap' });
  }
  if (namesGroup(String(apiVersion)) || namesKind(written)) return unknownKind(kind);
  if (typeof apiVersion === 'string' && typeof kind === 'string') return undefined;
  const name = nameWithin(document);
  if (name === undefined) return undefined;
  const problem = `contains ${JSON.stringify(name)}, but is not a manifest, because it lacks apiVersion or kind`;
  return error([], 'Invalid', {
    problem,
    remedy: `set ${rightVersion}, kind, metadata and spec at the top level`,
  });
}

const rightVersion = `apiVersion: ${ownVersion}`;

/**
 * Returns the error for a document in logfleet's API group whose kind does not exist, or must not be written by users.
 */
function unknownKind(kind: unknown): Finding {
  const written = String(kind ?? '');
  if (written === ledgerKind) {
    return error(['kind'], 'Unknown', {
      problem: 'only the operator writes Ledgers',
      remedy: 'remove it from the manifests',
    });
  }
  const meant = nearest(written.replace(listSuffix, ''), kindNames) ?? kindNames.join(' or ');
  const problem = `${apiGroup} has no kind ${JSON.stringify(kind ?? '')}`;
  return error(['kind'], 'Unknown', {
    problem,
    remedy: `set ${rightVersion} and kind: ${meant}, or remove the document`,
  });
}

const listSuffix = /List$/;

/** Reports whether an API version names logfleet's API group, even if the group is misspelt. */
function namesGroup(version: string): boolean {
  const group = version.split('/', 1).join();
  return group.toLowerCase().includes(apiGroup.split('.', 1).join()) || resembles(group, apiGroup);
}

function namesKind(text: string): boolean {
  return kindNames.some((name) => resembles(text.replace(listSuffix, ''), name));
}

/** Searches a value, at any depth, for a logfleet kind or API version, even if it is misspelt. */
function nameWithin(value: unknown): string | undefined {
  if (typeof value === 'string') {
    return namesKind(value) || (/^[^/]+\/v\d\w*$/.test(value) && namesGroup(value)) ? value : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const text of Object.entries(value).flat()) {
    const name = nameWithin(text);
    if (name !== undefined) return name;
  }
  return undefined;
}

/**
 * Returns all errors and warnings about a resource. If `previous`, the resource before an update, is given, also
 * validates the update. Without the current time `wallMs`, skips checks that depend on it.
 */
export function validateResource(
  kind: KindName,
  document: object,
  previous?: object,
  wallMs?: number,
): readonly Finding[] {
  const resource = applyDefaults(kind, document);
  const findings = [...checkMetadata(kind, document as JsonObject), ...checks[kind].checkForm(resource)];
  const refused = findings.map(({ path }) => path);
  const older = previous === undefined ? undefined : applyDefaults(kind, previous);
  const violations = evaluateRules(schemas[kind], resource, older, (path) => overlaps(path, refused));
  for (const violation of violations) {
    const { path } = violation;
    const { problem, remedy } = scheduleExplanation(path, valueAt(resource, path)) ?? violation;
    // Several CEL rules can report the same problem in a cron schedule. Only the first report is kept.
    if (findings.some((known) => known.problem === problem && overlaps(path, [known.path]))) continue;
    findings.push(error(path, 'Invalid', { problem, remedy }));
  }
  if ('status' in document) {
    findings.push(
      warning(['status'], 'NoEffect', {
        problem: 'is ignored, because only logfleet writes it',
        remedy: 'leave it out',
        subject: 'key',
      }),
    );
  }
  const { spec } = document as { readonly spec: never };
  const rejected = findings.filter(({ severity }) => severity === 'error').map(({ path }) => path);
  const { checkValid, checkAlways } = checks[kind];
  if (rejected.length === 0) findings.push(...checkValid(spec, wallMs));
  else if (checkAlways && !overlaps(checkAlways.path, rejected)) findings.push(...checkAlways.check(spec));
  return findings;
}

interface KindChecks {
  /** Finds all fields that violate the schema. */
  readonly checkForm: (resource: unknown) => readonly Finding[];
  /** Finds problems that neither the schema nor CEL rules can detect. The spec must be valid according to both. */
  readonly checkValid: (spec: never, wallMs?: number) => readonly Finding[];
  /** Check of the field at `path`. It runs even if other fields have errors. */
  readonly checkAlways?: { readonly path: JsonPath; readonly check: (spec: never) => readonly Finding[] };
}

const checks: { readonly [K in KindName]: KindChecks } = {
  CollectorVersionPolicy: {
    checkForm: schemaChecker(schemas.CollectorVersionPolicy),
    checkValid: checkPolicy,
  },
  SearchExport: {
    checkForm: schemaChecker(schemas.SearchExport),
    checkValid: checkExport,
    checkAlways: { path: ['spec', 'timeRange'], check: checkRange },
  },
  SearchExportSchedule: {
    checkForm: schemaChecker(schemas.SearchExportSchedule),
    checkValid: checkExportSchedule,
  },
};

/** Reports whether the value at `path` is inside a rejected value, or contains a rejected value. */
function overlaps(path: JsonPath, refused: readonly JsonPath[]): boolean {
  return refused.some((bad) => isWithin(bad, path) || isWithin(path, bad));
}

/** Explains what is wrong with a cron schedule or time zone. Returns undefined for other values. */
function scheduleExplanation(path: JsonPath, value: unknown): Explanation | undefined {
  const [, parent] = path;
  if (typeof value !== 'string') return undefined;
  if (parent === 'maintenance' && path.at(-1) === 'schedule') return scheduleProblem(value);
  if (path.at(-1) === 'timeZone') return timeZoneProblem(value);
  return undefined;
}
