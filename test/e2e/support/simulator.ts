/** Runs one `logfleet simulate` for all tests in a file. Each test has its own user and collectors. */
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { type Agent, request } from 'undici';
import type { JournalEntry } from '../../../simulator/requests/journal.ts';
import type { CollectorGroup, FaultScenario, Scenario } from '../../../simulator/scenario/scenario.ts';
import type { SimulatorAddress } from '../../../simulator/simulate.ts';
import type { CollectorSnapshot, JobSnapshot, SimulatorState, TaskState } from '../../../simulator/snapshot.ts';
import { patientAgent } from '../../support/patient-agent.ts';
import { Program } from './program.ts';

export const oldVersion = '19.400-1';
export const olderVersion = '19.361-20';
export const targetVersion = '19.500-1';
export const newestVersion = '19.501-7';

const control = { id: 'control', key: 'control-key' };
const builds: NonNullable<Scenario['builds']> = [olderVersion, oldVersion, '19.450-3', targetVersion, newestVersion];

/** The simulator's log messages. There are many more of them than a single search can return. */
export const logs = { messages: 600, from: '2026-10-01T00:00:00Z', to: '2026-10-01T03:00:00Z' };

export class Simulator {
  readonly address: SimulatorAddress;
  readonly #program: Program;
  readonly #journalFile: string;
  readonly #agent: Agent;

  /** Starts a simulator that keeps its files in the folder `directory`. */
  static async start(directory: string): Promise<Simulator> {
    const journalFile = `${directory}/journal.ndjson`;
    const program = await Program.start([
      'simulate',
      '--scenario',
      `${directory}/scenario.yaml`,
      '--journal',
      journalFile,
    ]);
    const address = JSON.parse(await program.line(/^\{/)) as SimulatorAddress;
    return new Simulator(program, journalFile, address);
  }

  /** Scenario with builds, log messages and a user. */
  static readonly scenario: Scenario = {
    builds,
    users: { [control.id]: { keys: { [control.id]: control.key } } },
    logs: { ...logs, seed: 7, sources: 3 },
    search: { duration: '300ms', messageLimit: 200, pages: { maxMessages: 100 } },
  };

  private constructor(program: Program, journalFile: string, address: SimulatorAddress) {
    this.#program = program;
    this.#journalFile = journalFile;
    this.address = address;
    this.#agent = patientAgent(address.caFile);
  }

  async state(): Promise<SimulatorState> {
    return (await this.#control('GET')) as SimulatorState;
  }

  /** Applies a merge patch to the scenario. */
  async patch(patch: object): Promise<void> {
    await this.#control('PATCH', patch);
  }

  journal(): readonly JournalEntry[] {
    const lines = readFileSync(this.#journalFile, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as JournalEntry);
  }

  /** Waits until `done` returns true for the list of requests that the simulator has received. */
  async journalUntil(done: (journal: readonly JournalEntry[]) => boolean): Promise<void> {
    let watcher: FSWatcher | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const look = () => {
          if (done(this.journal())) resolve();
        };
        watcher = watch(this.#journalFile, look).on('error', reject);
        look();
      });
    } finally {
      watcher?.close();
    }
  }

  async stop(): Promise<void> {
    this.#program.signal('SIGTERM');
    await this.#program.ended;
    await this.#agent.close();
  }

  async #control(method: 'GET' | 'PATCH', patch?: object): Promise<unknown> {
    const { statusCode, body } = await request(`${this.address.controlURL}/state`, {
      method,
      dispatcher: this.#agent,
      headers: { authorization: `Basic ${Buffer.from(`${control.id}:${control.key}`).toString('base64')}` },
      body: patch === undefined ? null : JSON.stringify(patch),
    });
    const response = await body.json();
    if (statusCode !== 200) throw new Error(`the simulator returned ${statusCode}: ${JSON.stringify(response)}`);
    return response;
  }
}

/** Collectors and faults of one test's user. */
export interface TenantScenario {
  readonly groups?: Readonly<Record<string, CollectorGroup | null>>;
  readonly faults?: Readonly<Record<string, FaultScenario | null>>;
}

/** A user of the service, with its own collectors. */
export class Tenant {
  readonly user: string;
  readonly accessKey: string;
  readonly #simulator: Simulator;
  readonly #groups = new Set<string>();

  constructor(simulator: Simulator, user: string) {
    this.#simulator = simulator;
    this.user = user;
    this.accessKey = `${user}-key`;
  }

  get baseURL(): string {
    return this.#simulator.address.baseURL;
  }

  get caFile(): string {
    return this.#simulator.address.caFile;
  }

  /** Returns the environment variables for `logfleet run DIR` with this user's credentials. */
  get env(): Readonly<Record<string, string>> {
    return {
      LOGFLEET_BASE_URL: this.baseURL,
      LOGFLEET_CA_FILE: this.caFile,
      LOGFLEET_ACCESS_ID: this.user,
      LOGFLEET_ACCESS_KEY: this.accessKey,
    };
  }

  get secret(): Readonly<Record<string, string>> {
    const { baseURL, user, accessKey, caFile } = this;
    return { baseURL, accessId: user, accessKey, 'ca.crt': readFileSync(caFile, 'utf8') };
  }

  /**
   * Adds or changes collectors and faults of the simulated user that belongs to this test. A null value removes an
   * entry.
   */
  async equip({ groups = {}, faults = {} }: TenantScenario): Promise<void> {
    for (const name of Object.keys(groups)) this.#groups.add(`${this.user}-${name}`);
    await this.#simulator.patch({
      groups: rename(groups, (name, group) => ({
        [`${this.user}-${name}`]: group && { name: `${this.user}-${name}-#`, ...group },
      })),
      users: { [this.user]: { keys: { [this.user]: this.accessKey }, groups: [...this.#groups] } },
      faults: rename(faults, (name, fault) => ({
        [`${this.user}-${name}`]: fault && { ...fault, users: [this.user] },
      })),
    });
  }

  async collectors(): Promise<readonly CollectorSnapshot[]> {
    const { collectors } = await this.#simulator.state();
    return collectors.filter(({ name }) => name.startsWith(`${this.user}-`));
  }

  async tasks(): Promise<readonly TaskState[]> {
    const { collectors, tasks } = await this.#simulator.state();
    const own = new Set(collectors.filter(({ name }) => name.startsWith(`${this.user}-`)).map(({ id }) => id));
    return tasks.filter(({ collectorId }) => own.has(collectorId));
  }

  async jobs(): Promise<readonly JobSnapshot[]> {
    return (await this.#simulator.state()).jobs.filter(({ user }) => user === this.user);
  }

  journal(): readonly JournalEntry[] {
    return this.#simulator.journal().filter(({ user }) => user === this.user);
  }

  journalUntil(done: (journal: readonly JournalEntry[]) => boolean): Promise<void> {
    return this.#simulator.journalUntil((journal) => done(journal.filter(({ user }) => user === this.user)));
  }

  /**
   * Resolves when the simulator has handled this many upgrade requests, including requests whose responses were lost.
   */
  posted(count: number): Promise<void> {
    return this.journalUntil((journal) => journal.filter(isPost).length >= count);
  }
}

export function isPost({ operation }: JournalEntry): boolean {
  return operation === 'createTask';
}

function rename<V>(
  members: Readonly<Record<string, V>>,
  renamed: (name: string, value: V) => Record<string, unknown>,
): Record<string, unknown> {
  return Object.assign({}, ...Object.entries(members).map(([name, value]) => renamed(name, value)));
}
