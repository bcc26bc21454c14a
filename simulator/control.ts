/** The control address, where tests read the simulator's state and change its scenario. */

import type { ServiceModel } from './model.ts';
import type { ServiceRequest } from './requests/call.ts';
import { ScenarioError } from './scenario/scenario-error.ts';

export interface ControlResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const controlPath = '/simulator';

export function isControl(path: string): boolean {
  return path === controlPath || path.startsWith(`${controlPath}/`);
}

export function control(model: ServiceModel, request: ServiceRequest, atMs: number): ControlResponse {
  if (!model.knows(request.headers['authorization'])) {
    return problem(401, 'Use the credentials of the service.', { 'www-authenticate': 'Basic realm="simulator"' });
  }
  if (request.path.split('?')[0] !== `${controlPath}/state`)
    return problem(404, `Not found. The only path is ${controlPath}/state.`);
  if (request.isTooLong) return problem(413, 'The body is longer than 1 MiB.');
  switch (request.method) {
    case 'GET':
      return response(200, model.snapshot(atMs));
    case 'PATCH':
      return patch(model, request.body, atMs);
    default:
      return problem(405, 'Use GET to read the state, or PATCH with a merge patch for the scenario.', {
        allow: 'GET, PATCH',
      });
  }
}

/** Applies a merge patch to the scenario, and responds with the new scenario. */
function patch(model: ServiceModel, body: string, atMs: number): ControlResponse {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return problem(400, 'The body is not JSON in UTF-8; send a merge patch for the scenario (RFC 7396).');
  }
  try {
    model.patch(value, atMs);
  } catch (error) {
    if (error instanceof ScenarioError) return problem(400, error.message);
    throw error;
  }
  return response(200, model.scenario);
}

function problem(status: number, message: string, headers: Readonly<Record<string, string>> = {}): ControlResponse {
  const { body, headers: json } = response(status, { message });
  return { status, headers: { ...json, ...headers }, body };
}

function response(status: number, value: unknown): ControlResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(value)}\n` };
}
