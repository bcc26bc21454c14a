/** Creates thousands of objects on a real API server, with administrator permissions. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import type { ControlPlaneAccess } from '../../test/support/control-plane-process.ts';

export type Plural = 'searchexports' | 'searchexportschedules' | 'collectorversionpolicies';

export const namespace = 'default';
const secrets = `/api/v1/namespaces/${namespace}/secrets`;
const atOnce = 24;

export interface WrittenStatus {
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
}

interface Made {
  readonly metadata: { readonly name: string };
  readonly status?: WrittenStatus;
}

export class ClusterObjects {
  readonly #access: ControlPlaneAccess;
  readonly #agent: Agent;

  constructor(access: ControlPlaneAccess) {
    this.#access = access;
    this.#agent = new Agent({ connect: { ca: readFileSync(access.caFile) }, connections: atOnce });
  }

  async makeSecret(name: string, stringData: Readonly<Record<string, string>>): Promise<void> {
    await this.#call('POST', secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData });
  }

  /** Creates all objects, several at a time. */
  async makeAll(plural: Plural, objects: readonly object[]): Promise<void> {
    await each(objects, (object) => this.#call('POST', pathOf(plural), object));
  }

  async giveStatus(plural: Plural, names: readonly string[], status: WrittenStatus): Promise<void> {
    await each(names, (name) => this.#call('PATCH', `${pathOf(plural)}/${name}/status`, { status }));
  }

  async status(plural: Plural, name: string): Promise<WrittenStatus | undefined> {
    return ((await this.#call('GET', `${pathOf(plural)}/${name}`)) as Made).status;
  }

  /**
   * Returns how many resources have each reason in their `Ready` condition. Resources without this condition are
   * counted as `none`.
   */
  async countReasons(plural: Plural): Promise<Readonly<Record<string, number>>> {
    const { items } = (await this.#call('GET', pathOf(plural))) as { readonly items: readonly Made[] };
    const counts: Record<string, number> = {};
    for (const { status } of items) {
      const reason = status?.conditions?.find(({ type }) => type === 'Ready')?.reason ?? 'none';
      counts[reason] = (counts[reason] ?? 0) + 1;
    }
    return counts;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #call(method: 'GET' | 'POST' | 'PATCH', path: string, object?: object): Promise<unknown> {
    const response = await request(`${this.#access.server}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        authorization: `Bearer ${this.#access.adminToken}`,
        accept: 'application/json',
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      body: object === undefined ? null : JSON.stringify(object),
    });
    const text = await response.body.text();
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
    return JSON.parse(text);
  }
}

function pathOf(plural: Plural): string {
  return `/apis/logfleet.dev/v1alpha1/namespaces/${namespace}/${plural}`;
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
