/** Runs the real operator on a simulated directory of manifests, with a simulated log service. */
import { rmSync } from 'node:fs';
import type { Scenario } from '../../../../simulator/scenario/scenario.ts';
import type { CollectorVersionPolicy } from '../../../../src/api/kinds.ts';
import { silentLogger } from '../../../../src/base/log.ts';
import { noMetrics } from '../../../../src/base/metrics.ts';
import { Operator, type OperatorOptions } from '../../../../src/cli/operator/operator.ts';
import { createDirectoryHost, type DirectoryHost } from '../../../../src/host/directory/directory-host.ts';
import { writeUserRequest } from '../../../../src/host/directory/user-requests.ts';
import { ServiceWorld } from '../../../support/service-world.ts';
import { Workplace } from '../../../support/workplace.ts';

export class DirectoryWorld extends ServiceWorld {
  readonly place: Workplace;
  #running: { readonly host: DirectoryHost; readonly operator: Operator } | undefined;
  readonly #exports: OperatorOptions['exports'];

  constructor(scenario: Scenario, exports?: OperatorOptions['exports']) {
    const place = new Workplace();
    super({ scenario, clock: place.clock });
    this.place = place;
    this.#exports = exports;
  }

  get host(): DirectoryHost {
    if (!this.#running) throw new Error('no operator runs');
    return this.#running.host;
  }

  get directory(): string {
    return this.place.directory;
  }

  /** Writes a file whose modification time comes from the virtual clock. */
  write(file: string, content: string | Uint8Array): void {
    this.place.writeAt(file, content, this.clock.now());
  }

  async start(): Promise<void> {
    const { clock, random } = this;
    const common = { clock, random, log: silentLogger, metrics: noMetrics };
    const host = await this.clock.during(createDirectoryHost({ ...common, directories: [this.directory] }));
    const operator = new Operator({
      ...common,
      host,
      settings: { statusIntervalMs: 1_000 },
      ...(this.#exports && { exports: this.#exports }),
      connect: this.connect(),
    });
    this.#running = { host, operator };
    operator.start();
  }

  async stop(): Promise<void> {
    if (!this.#running) return;
    const { host, operator } = this.#running;
    this.#running = undefined;
    await this.clock.during(operator.stop());
    await this.clock.during(host.close());
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  async pass(durationMs: number): Promise<void> {
    await this.clock.advance(durationMs);
  }

  policy(name: string): CollectorVersionPolicy | undefined {
    return this.host.resources('CollectorVersionPolicy').get({ namespace: 'logging', name });
  }

  async annotate(name: string, annotation: string, value: string): Promise<void> {
    const key = { namespace: 'logging', name };
    await this.clock.during(writeUserRequest(this.directory, 'CollectorVersionPolicy', key, { [annotation]: value }));
  }

  /** Returns the names of the upgraded collectors, in the order of the requests. */
  upgrades(): readonly string[] {
    const { collectors } = this.snapshot();
    const names = new Map(collectors.map(({ id, name }) => [String(id), name]));
    return this.journal
      .filter(({ operation }) => operation === 'createTask')
      .map(({ collectorId }) => names.get(String(collectorId)) ?? String(collectorId));
  }
}
