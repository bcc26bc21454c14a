/** Administrator client for a real API server. Applies Secrets and policies, and watches policies. */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Agent, request } from 'undici';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import type { ControlPlaneAccess } from '../../test/support/control-plane-process.ts';

const namespace = 'default';
const policies = `/apis/logfleet.dev/v1alpha1/namespaces/${namespace}/collectorversionpolicies`;
const secrets = `/api/v1/namespaces/${namespace}/secrets`;

/** Status of a policy, as reported by a watch. */
export interface ShownStatus {
  readonly ready: boolean;
  readonly observedGeneration: number | undefined;
}

export interface PolicyWatch {
  /**
   * Returns the time at which the watch first receives a status for which `holds` returns true. This time can be in the
   * past.
   */
  until(name: string, holds: (shown: ShownStatus) => boolean, deadlineMs: number): Promise<number>;
  close(): void;
}

export class ApiServer {
  readonly #access: ControlPlaneAccess;
  readonly #agent: Agent;

  constructor(access: ControlPlaneAccess) {
    this.#access = access;
    this.#agent = new Agent({ connect: { ca: readFileSync(access.caFile) }, bodyTimeout: 0 });
  }

  applySecret(name: string, stringData: Readonly<Record<string, string>>): Promise<void> {
    return this.#apply(`${secrets}/${name}`, { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData });
  }

  /** Creates or changes the policy `name`. The policy's Secret has the same name as the policy. */
  applyPolicy(name: string, version: string): Promise<void> {
    return this.#apply(`${policies}/${name}`, {
      apiVersion: 'logfleet.dev/v1alpha1',
      kind: 'CollectorVersionPolicy',
      metadata: { name },
      spec: { credentialsSecretRef: { name }, target: { version }, selector: {}, strategy: { maxInProgress: 1_000 } },
    });
  }

  async deletePolicy(name: string): Promise<void> {
    await this.#call('DELETE', `${policies}/${name}`);
  }

  async watchPolicies(nowMs: () => number): Promise<PolicyWatch> {
    const stop = new AbortController();
    const response = await request(`${this.#access.server}${policies}?watch=true`, {
      dispatcher: this.#agent,
      headers: this.#headers,
      signal: stop.signal,
    });
    const seen: { readonly name: string; readonly atMs: number; readonly shown: ShownStatus }[] = [];
    const listeners = new Set<() => void>();
    const lines = createInterface({ input: response.body });
    lines.on('error', () => lines.close());
    lines.on('line', (line) => {
      const { object } = JSON.parse(line) as { readonly object: CollectorVersionPolicy };
      const { status } = object;
      const ready = status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false;
      const shown = { ready, observedGeneration: status?.observedGeneration };
      seen.push({ name: object.metadata.name, atMs: nowMs(), shown });
      for (const listener of [...listeners]) listener();
    });
    const until = async (name: string, holds: (shown: ShownStatus) => boolean, deadlineMs: number): Promise<number> => {
      const signal = AbortSignal.timeout(deadlineMs);
      for (;;) {
        const found = seen.find((each) => each.name === name && holds(each.shown));
        if (found) return found.atMs;
        await new Promise<void>((resolve, reject) => {
          const onTimeout = () =>
            reject(new Error(`the watch showed no matching status for ${name} within ${deadlineMs} ms`));
          signal.addEventListener('abort', onTimeout, { once: true });
          const listener = () => {
            listeners.delete(listener);
            signal.removeEventListener('abort', onTimeout);
            resolve();
          };
          listeners.add(listener);
        });
      }
    };
    return { until, close: () => stop.abort() };
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  get #headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#access.adminToken}`, accept: 'application/json' };
  }

  #apply(path: string, object: object): Promise<void> {
    return this.#call('PATCH', `${path}?fieldManager=kubectl&force=true`, object);
  }

  async #call(method: 'PATCH' | 'DELETE', path: string, object?: object): Promise<void> {
    const response = await request(`${this.#access.server}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: { ...this.#headers, 'content-type': 'application/apply-patch+yaml' },
      body: object === undefined ? null : JSON.stringify(object),
    });
    const text = await response.body.text();
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
  }
}
