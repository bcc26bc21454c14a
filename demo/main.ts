/** Entry point of `make demo`. */
import { flushed, processContext } from '../src/cli/process-context.ts';
import { runDemo } from './demo.ts';

const status = await runDemo(processContext());
await flushed();
process.exit(status);
