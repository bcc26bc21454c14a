/** Reports faults of a scenario that can never apply to a request. A test with such a fault would test nothing. */

import { durationMs } from './base/span.ts';
import { onlyFor } from './faults.ts';
import { type FaultScenario, operations, type Scenario, type SimulatedOperation } from './scenario/scenario.ts';
import type { ScenarioProblem } from './scenario/scenario-error.ts';
import { defaultCredentials } from './scenario/settings.ts';

const aboutTasks: readonly SimulatedOperation[] = ['getTask', 'createTask'];
const aboutJobs: readonly SimulatedOperation[] = ['createJob', 'getJob', 'listMessages', 'listRecords', 'deleteJob'];

const lists = ['operations', 'users', 'collectors', 'queries', 'nth'] as const;

/** Returns the problems with a scenario's faults. The scenario must already be valid according to the JSON Schema. */
export function faultProblems(scenario: Scenario): ScenarioProblem[] {
  return Object.entries(scenario.faults ?? {}).flatMap(([name, fault]) =>
    problemsOf(fault, scenario).map(({ path, text }) => ({ path: ['faults', name, ...path], text })),
  );
}

function problemsOf(fault: FaultScenario, scenario: Scenario): ScenarioProblem[] {
  const empty = lists.filter((list) => fault[list]?.length === 0);
  if (empty.length > 0) {
    return empty.map((list) => ({ path: [list], text: 'is empty; list at least one, or remove it' }));
  }
  const misfits = operationProblems(fault);
  return [
    ...(misfits.length > 0 ? misfits : subjectProblems(fault)),
    ...userProblems(fault, scenario),
    ...timeProblems(fault),
    ...redirectProblems(fault, scenario),
  ];
}

function operationProblems({ kind, operations: asked = [] }: FaultScenario): ScenarioProblem[] {
  const struck = onlyFor[kind];
  if (!struck) return [];
  return asked.flatMap((operation, index) =>
    struck.includes(operation)
      ? []
      : [
          {
            path: ['operations', index],
            text: `${kind} never applies to ${operation}; use one of ${struck.join(', ')}`,
          },
        ],
  );
}

/**
 * Reports a fault that selects requests by collector or query, but applies only to operations without a collector or
 * query.
 */
function subjectProblems(fault: FaultScenario): ScenarioProblem[] {
  const { collectors, queries } = fault;
  if (collectors && queries) {
    return [{ path: ['queries'], text: 'no request has both a collector and a query; remove one of the two' }];
  }
  if (collectors) return subjectProblem(fault, 'collectors', 'upgrade tasks', aboutTasks);
  return queries ? subjectProblem(fault, 'queries', 'search jobs', aboutJobs) : [];
}

function subjectProblem(
  { kind, operations: asked = operations }: FaultScenario,
  member: 'collectors' | 'queries',
  what: string,
  having: readonly SimulatedOperation[],
): ScenarioProblem[] {
  const struck = having.filter((operation) => onlyFor[kind]?.includes(operation) !== false);
  if (asked.some((operation) => struck.includes(operation))) return [];
  const advice =
    struck.length === 0
      ? `, and ${kind} never applies to these requests; remove it`
      : `; use operations from ${struck.join(', ')}, or remove it`;
  const subject = member === 'collectors' ? 'a collector' : 'a query';
  return [{ path: [member], text: `only requests for ${what} have ${subject}${advice}` }];
}

function userProblems({ users: asked = [] }: FaultScenario, { users }: Scenario): ScenarioProblem[] {
  const known = users ? Object.keys(users) : [defaultCredentials.accessId];
  return asked.flatMap((user, index) =>
    known.includes(user)
      ? []
      : [{ path: ['users', index], text: `there is no user ${user}; use one of ${known.join(', ')}` }],
  );
}

function timeProblems({ from = '0s', until }: FaultScenario): ScenarioProblem[] {
  if (until === undefined || (durationMs(from) ?? 0) < (durationMs(until) ?? 0)) return [];
  return [{ path: ['until'], text: `${until} is not later than from (${from}); set a later time` }];
}

/**
 * Reports each `redirect` fault that points to the service's only base path, because it would redirect every request to
 * the same URL.
 */
function redirectProblems({ kind, to }: FaultScenario, { basePaths = ['/api'] }: Scenario): ScenarioProblem[] {
  if (kind !== 'redirect' || basePaths.some((base) => base !== to)) return [];
  return [{ path: ['to'], text: "is the service's only base path; set another path, or add one to basePaths" }];
}
