/** Program that locks a directory of manifests until it is stopped. */
import { systemClock } from '../../../../src/base/clock.ts';
import { asLogfleetError } from '../../../../src/base/errors.ts';
import { silentLogger } from '../../../../src/base/log.ts';
import { systemRandom } from '../../../../src/base/random.ts';
import { createDirectoryHost } from '../../../../src/host/directory/directory-host.ts';

try {
  const host = await createDirectoryHost({
    directories: [process.argv[2] ?? ''],
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
  });
  process.once('SIGTERM', () => void host.close().then(() => process.exit(0)));
  process.stdout.write(`open ${process.pid} ${host.leadership.tookOverByForce()}\n`);
} catch (error) {
  process.stdout.write(`${asLogfleetError(error).code}\n`);
  process.exit(1);
}
