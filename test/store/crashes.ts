/**
 * Tests exports that are killed, and exports run by two processes at the same time. Each row must be written exactly
 * once.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Verification, verifyExport } from '../../src/destination/export-verification.ts';
import { Child } from './child.ts';
import { openPlace, type StorePlace } from './place.ts';
import { type Boundary, layout, rowsOfFile } from './small-export.ts';
import { type StoreName, stores } from './stores.ts';

/**
 * Defines a test for each step. The test kills the export right after the step, and expects the export to be completed
 * after the next start.
 */
export function testCrashes(kind: StoreName, boundaries: readonly Boundary[]): void {
  describe(`an export to a destination of the kind ${kind}`, () => {
    let place: StorePlace;
    beforeEach(async () => {
      place = await stores[kind].make();
    });
    afterEach(() => place.remove());

    const verification = async (): Promise<Verification> => {
      const destination = await openPlace(place.data);
      try {
        return await verifyExport(destination, layout);
      } finally {
        await destination.close();
      }
    };
    const toItsEnd = async (child: Child) => {
      let boundary: unknown;
      while (boundary !== 'done') boundary = (await child.line())['boundary'];
    };
    const expectProof = async () => {
      const { differences, manifest, rows } = await verification();
      expect(differences).toEqual([]);
      expect([manifest.totals.intervals, rows]).toEqual([4, 4 * rowsOfFile]);
      // The destination contains one plan, four commit records, four data files and one manifest.
      expect(await place.files()).toHaveLength(1 + 4 + 4 + 1);
    };

    test.each(boundaries)(
      'that is killed after the boundary %s is completed by the next start (E3, E15)',
      async (boundary) => {
        await using killed = new Child(place.data, { kind: 'export', waits: true });
        while ((await killed.line())['boundary'] !== boundary) killed.go();
        await killed.kill();
        await using next = new Child(place.data, { kind: 'export', waits: false });
        await toItsEnd(next);
        await expectProof();
      },
    );

    test('has every row once when two processes run it at the same time (E3)', async () => {
      await using one = new Child(place.data, { kind: 'export', waits: false });
      await using two = new Child(place.data, { kind: 'export', waits: false });
      await Promise.all([toItsEnd(one), toItsEnd(two)]);
      await expectProof();
    });
  });
}
