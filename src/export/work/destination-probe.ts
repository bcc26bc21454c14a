/** Tests a destination by a probe file, which is written and removed. At most one probe file is left (E15). */

import type { ExportLayout } from '../../destination/export-layout.ts';
import type { Destination } from '../../destination/store/destination.ts';

/** Size of the probe file in bytes, usually enough to notice a full disk or quota. */
const probeBytes = 256 * 1_024;

export class DestinationProbe {
  readonly #destination: Destination;
  readonly #layout: ExportLayout;
  /** Name of the probe file. The name stays the same, unless the store locks the file. */
  #name: string | undefined;
  /** True if the probe file may exist. */
  #mayStand = false;

  constructor(destination: Destination, layout: ExportLayout) {
    this.#destination = destination;
    this.#layout = layout;
  }

  /** Writes and removes the probe file. Rejects with the destination's error if this fails. */
  async run(token: string): Promise<void> {
    if (this.#name !== undefined) await this.#remove(this.#name);
    const name = this.#name ?? this.#layout.within(`data/probe-${token}`);
    this.#name = name;
    const upload = await this.#destination.open(name, 'temporary');
    // The probe file may exist even if writing failed.
    this.#mayStand = true;
    try {
      await upload.write(Buffer.alloc(probeBytes));
      await upload.finish();
    } catch (error) {
      await upload.abort().catch(() => {});
      throw error;
    }
    await this.#remove(name);
  }

  async #remove(name: string): Promise<void> {
    if (this.#mayStand) await this.#destination.remove(name);
    this.#mayStand = false;
    if (this.#destination.lockedFiles?.has(name)) this.#name = undefined;
  }
}
