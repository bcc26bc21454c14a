/** Validates scenarios against the JSON Schema, and against rules that the schema cannot express. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { parseDuration } from '../src/base/duration.ts';
import { isRecord } from '../src/base/record.ts';
import { mergePatch } from './base/merge-patch.ts';
import type { DurationRange } from './base/span.ts';
import { memberNames } from './collectors/fleet.ts';
import { accessIdProblem } from './credentials.ts';
import { faultProblems } from './fault-check.ts';
import { parseMoment } from './scenario/log-scenario.ts';
import type { CollectorProperties, OutcomeScenario, Scenario } from './scenario/scenario.ts';
import { renderPath, ScenarioError, type ScenarioProblem } from './scenario/scenario-error.ts';
import { scenarioSchema } from './scenario/scenario-schema.ts';
import { logProblems } from './search/log-source.ts';

let compiled: ValidateFunction<Scenario> | undefined;

function validator(): ValidateFunction<Scenario> {
  compiled ??= new Ajv({
    allErrors: true,
    verbose: true,
    allowUnionTypes: true,
    formats: {
      duration: (text: string) => parseDuration(text) !== undefined,
      moment: (text: string) => parseMoment(text, 0) !== undefined,
    },
  }).compile<Scenario>(scenarioSchema);
  return compiled;
}

/** Start time of the service if the caller does not provide one. The checks give the same result for any start time. */
const anyStartMs = Date.UTC(2026, 0);

/** Returns all problems with a scenario. `startMs` is the time at which the service starts, in ms since the epoch. */
export function scenarioProblems(value: unknown, startMs = anyStartMs): ScenarioProblem[] {
  const validate = validator();
  if (validate(value)) return deepProblems(value, startMs);
  const errors = validate.errors ?? [];
  const alternatives = errors.filter(({ keyword }) => keyword === 'anyOf').map(({ schemaPath }) => `${schemaPath}/`);
  return errors
    .filter(({ schemaPath, keyword }) => keyword !== 'if' && !alternatives.some((path) => schemaPath.startsWith(path)))
    .map(problemOf);
}

/** Returns the value as a scenario. Throws ScenarioError, with one line per problem. */
export function checkScenario(value: unknown, startMs?: number): Scenario {
  const problems = scenarioProblems(value, startMs);
  if (problems.length > 0) throw new ScenarioError(problems.map(({ path, text }) => `${renderPath(path)}: ${text}`));
  return value as Scenario;
}

interface DescribedSchema {
  /** Description of the valid values. Error messages show this description as the remedy. */
  readonly description?: string;
  readonly properties?: Readonly<Record<string, DescribedSchema>>;
}

function problemOf(error: ErrorObject): ScenarioProblem {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const parent = error.parentSchema as DescribedSchema | undefined;
  switch (error.keyword) {
    case 'additionalProperties': {
      const known = Object.keys(parent?.properties ?? {}).join(', ');
      return { path: [...path, error.params.additionalProperty], text: `is not a known member; use one of ${known}` };
    }
    case 'required': {
      const missing: string = error.params.missingProperty;
      const wanted = parent?.properties?.[missing] ?? parent;
      return { path: [...path, missing], text: `is missing; set it to ${wanted?.description ?? 'a value'}` };
    }
    default:
      return { path, text: `${shown(error.data)} is not valid; use ${parent?.description ?? 'another value'}` };
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function deepProblems(scenario: Scenario, startMs: number): ScenarioProblem[] {
  return [
    ...idProblems(scenario),
    ...userProblems(scenario),
    ...versionProblems(scenario),
    ...nameProblems(scenario),
    ...outcomeProblems(['upgrade'], scenario.upgrade),
    ...Object.entries(scenario.groups ?? {}).flatMap(([name, { upgrade }]) =>
      outcomeProblems(['groups', name, 'upgrade'], upgrade),
    ),
    ...messageProblems(scenario, startMs),
    ...faultProblems(scenario),
    ...eventProblems(scenario, startMs),
    ...rangeProblems(['latency'], scenario.latency),
    ...rangeProblems(['search', 'duration'], scenario.search?.duration),
    ...rangeProblems(['search', 'keepAlive'], scenario.search?.keepAlive),
    ...Object.entries(scenario.faults ?? {}).flatMap(([name, { delay }]) =>
      rangeProblems(['faults', name, 'delay'], delay),
    ),
  ];
}

function idProblems({ ids = {} }: Scenario): ScenarioProblem[] {
  return Object.entries(ids)
    .filter(([, id]) => typeof id === 'number' && !Number.isSafeInteger(id))
    .map(([name]) => ({ path: ['ids', name], text: 'is greater than 2^53, so it was rounded; put it in quotes' }));
}

function userProblems({ users = {}, groups = {}, organisations = {} }: Scenario): ScenarioProblem[] {
  const problems: ScenarioProblem[] = [];
  const owners = new Map<string, string>();
  const known = (names: object, member: string) => Object.keys(names).join(', ') || `those under ${member}`;
  for (const [user, { keys, groups: seen = [], organisation }] of Object.entries(users)) {
    if (organisation !== undefined && !Object.hasOwn(organisations, organisation)) {
      const text = `there is no organisation ${organisation}; use one of ${known(organisations, 'organisations')}`;
      problems.push({ path: ['users', user, 'organisation'], text });
    }
    for (const accessId of Object.keys(keys)) {
      const owner = owners.get(accessId);
      if (owner !== undefined) {
        const text = `already belongs to user ${owner}; use another access ID`;
        problems.push({ path: ['users', user, 'keys', accessId], text });
      }
      owners.set(accessId, user);
      const text = accessIdProblem(accessId);
      if (text !== undefined) problems.push({ path: ['users', user, 'keys', accessId], text });
    }
    seen.forEach((group, index) => {
      if (group in groups) return;
      const text = `there is no group ${group}; use one of ${known(groups, 'groups')}`;
      problems.push({ path: ['users', user, 'groups', index], text });
    });
  }
  return problems;
}

function versionProblems({ groups = {}, collectors = {} }: Scenario): ScenarioProblem[] {
  const problems: ScenarioProblem[] = [];
  const lacks = ({ version, collectorType }: CollectorProperties) =>
    version === undefined && collectorType !== 'Hosted';
  for (const [name, group] of Object.entries(groups)) {
    if (lacks(group) && group.versions === undefined) {
      problems.push({
        path: ['groups', name],
        text: 'has no version; set one, such as version: 19.400-1, or set collectorType: Hosted',
      });
    }
  }
  const members = new Set(Object.entries(groups).flatMap(([name, group]) => [...memberNames(name, group)]));
  for (const [name, properties] of Object.entries(collectors)) {
    if (!members.has(name) && lacks(properties)) {
      const text =
        'belongs to no group and has no version; set one, such as version: 19.400-1, or use the name of a collector in a group';
      problems.push({ path: ['collectors', name], text });
    }
  }
  return problems;
}

function nameProblems({ groups = {} }: Scenario): ScenarioProblem[] {
  const owners = new Map<string, string>();
  const problems: ScenarioProblem[] = [];
  for (const [group, declaration] of Object.entries(groups)) {
    for (const name of memberNames(group, declaration)) {
      const owner = owners.get(name);
      owners.set(name, group);
      if (owner === undefined) continue;
      problems.push({
        path: ['groups', group],
        text: `${name} is also in group ${owner}; set another name, such as ${group}-####`,
      });
      break;
    }
  }
  return problems;
}

function outcomeProblems(path: readonly string[], upgrade: Scenario['upgrade']): ScenarioProblem[] {
  const outcomes: readonly OutcomeScenario[] = upgrade?.outcomes ?? [];
  const problems = outcomes.flatMap(({ duration }, index) =>
    rangeProblems([...path, 'outcomes', index, 'duration'], duration),
  );
  const everyTime = outcomes.filter(({ attempts }) => attempts === undefined);
  // Adds up the outcome fractions for each build. An outcome without a build applies to every build.
  const totals = [undefined, ...everyTime.map(({ toVersion }) => toVersion)].map((version) =>
    everyTime
      .filter(({ toVersion }) => toVersion === undefined || toVersion === version)
      .reduce((sum, { share = 1 }) => sum + share, 0),
  );
  const total = Math.max(...totals);
  if (total > 1 + 1e-9) {
    problems.push({
      path: [...path, 'outcomes'],
      text: `the shares add up to ${total}; set shares that add up to at most 1`,
    });
  }
  return [...problems, ...rangeProblems([...path, 'duration'], upgrade?.duration)];
}

function eventProblems({ events = {}, ...scenario }: Scenario, startMs: number): ScenarioProblem[] {
  return Object.entries(events).flatMap(([name, { upgrade, setVersion, collectors, patch }]) => {
    if ((upgrade ?? setVersion) !== undefined && collectors === undefined) {
      return [{ path: ['events', name], text: "selects no collectors; to select all of them, set collectors: ['*']" }];
    }
    if (isRecord(patch?.logs) && 'files' in patch.logs) {
      return [{ path: ['events', name, 'patch', 'logs', 'files'], text: 'is read only at startup; set it under logs' }];
    }
    // An event's patch must not make the scenario invalid, so the patched scenario is also checked.
    const patched = patch === undefined ? [] : scenarioProblems(mergePatch(scenario, patch), startMs);
    return patched.map(({ path, text }) => ({ path: ['events', name, 'patch', ...path], text }));
  });
}

/**
 * Reports whether any collector in the scenario sends messages. If so, the scenario must not have `logs`, which defines
 * log messages from another source.
 */
export function shipsMessages({ groups = {}, collectors = {} }: Scenario): boolean {
  return [...Object.values(groups), ...Object.values(collectors)].some(
    ({ messagesPerMinute = 0 }) => messagesPerMinute > 0,
  );
}

function messageProblems(scenario: Scenario, startMs: number): ScenarioProblem[] {
  const { logs } = scenario;
  if (!logs) return [];
  if (shipsMessages(scenario)) {
    return [{ path: ['logs'], text: "cannot be combined with a collector's messagesPerMinute; remove one of the two" }];
  }
  return logProblems(logs, startMs).map(({ path, text }) => ({ path: ['logs', ...path], text }));
}

function rangeProblems(path: readonly (string | number)[], range: DurationRange | undefined): ScenarioProblem[] {
  if (range === undefined || typeof range === 'string') return [];
  const [from, to] = range.map((text) => parseDuration(text) ?? 0);
  if ((from ?? 0) <= (to ?? 0)) return [];
  return [{ path, text: `${range[0]} is longer than ${range[1]}; put the shorter duration first` }];
}
