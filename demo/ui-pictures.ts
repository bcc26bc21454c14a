/** `npm run demo:ui-pictures`: makes the pictures in docs/ui.md with Chromium, from example resources. */
import { writeFileSync } from 'node:fs';
import { openPage, showPage, startBrowser, type Viewport } from '../test/support/shown-page.ts';
import { exampleResources } from '../test/support/shown-resources.ts';
import { chromiumProgram } from '../tools/installer/chromium.ts';

interface Picture extends Viewport {
  readonly file: string;
  /** Resource whose details are shown. */
  readonly id: string;
}

const pictures: readonly Picture[] = [
  { file: 'ui-policy.png', id: 'cvp/logging/production', width: 1120, height: 680 },
  { file: 'ui-stopped.png', id: 'cvp/payments/payments', width: 1120, height: 680, colorScheme: 'dark' },
  { file: 'ui-export.png', id: 'sx/audit/october-audit', width: 1120, height: 680 },
  { file: 'ui-schedule.png', id: 'sxs/web/access-log', width: 1120, height: 640, colorScheme: 'dark' },
  { file: 'ui-narrow.png', id: 'cvp/network/edge', width: 380, height: 780 },
];

const shown = await showPage(exampleResources(Date.now()));
const browser = await startBrowser(await chromiumProgram());
for (const { file, id, ...screen } of pictures) {
  const { page } = await openPage(browser, shown.url, id, screen);
  await page.locator('article').waitFor();
  const picture = await page.screenshot({ animations: 'disabled' });
  writeFileSync(new URL(`../docs/${file}`, import.meta.url), picture);
  console.log(`docs/${file}: ${Math.round(picture.length / 1_000)} kB`);
}
await browser.close();
await shown.stop();
