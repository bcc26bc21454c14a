/** Measures how fast `logfleet ui` starts, loads and updates, with a real API server and Chromium. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { startControlPlane } from '../../test/support/control-plane-process.ts';
import { startBrowser } from '../../test/support/shown-page.ts';
import { manyRuns } from '../../test/support/shown-resources.ts';
import { chromiumProgram } from '../../tools/installer/chromium.ts';
import { ClusterObjects, namespace } from '../many/cluster-objects.ts';
import { processorSeconds, residentMiB } from '../process-figures.ts';

export interface UiFigures {
  readonly resources: number;
  /** Times from the start of navigation to the page's first contentful paint, in ms, in ascending order. */
  readonly firstPaintMs: readonly number[];
  /** Times from the start of navigation to the page's first frame with table rows, in ms, in ascending order. */
  readonly firstRowsMs: readonly number[];
  /** Times from a status write until the page shows the status, in ms, in ascending order. */
  readonly changeMs: readonly number[];
  /** CPU time in seconds that the command `logfleet ui` uses before it can serve the web page. */
  readonly startCpuSeconds: number;
  readonly residentMiB: number;
}

const loads = 15;
const changes = 20;
const plural = 'searchexports';
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export async function measureUi(resources: number): Promise<UiFigures> {
  const controlPlane = await startControlPlane();
  const objects = new ClusterObjects(controlPlane.access);
  try {
    const name = await createExports(objects, resources);
    const ui = await startUi(controlPlane.access.adminKubeconfig);
    const browser = await startBrowser(await chromiumProgram());
    try {
      return {
        resources,
        ...ui.figures,
        ...(await measurePage(browser, ui.url, objects, name)),
        residentMiB: residentMiB(ui.pid),
      };
    } finally {
      await browser.close();
      ui.child.kill();
    }
  } finally {
    await objects.close();
    await controlPlane.stop();
  }
}

/** Creates exports with a status. Returns the name of the export that is listed first. */
async function createExports(objects: ClusterObjects, resources: number): Promise<string> {
  const runs = manyRuns(resources, Date.now());
  const names = runs.map(({ metadata }) => metadata.name);
  const manifests = runs.map(({ apiVersion, kind, metadata: { name }, spec }) => ({
    ...{ apiVersion, kind, metadata: { name, namespace }, spec },
  }));
  await objects.makeAll(plural, manifests);
  // The status gets the current time, because the operator ignores a status that is older than its resource.
  const time = new Date().toISOString();
  const { conditions = [], ...complete } = runs[1]?.status ?? {};
  const times = { startTime: time, completionTime: time };
  const current = conditions.map((condition) => ({ ...condition, lastTransitionTime: time }));
  await objects.giveStatus(plural, names, { ...complete, ...times, conditions: current });
  return names[0] ?? '';
}

interface UiProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly url: string;
  readonly figures: Pick<UiFigures, 'startCpuSeconds'>;
}

async function startUi(kubeconfig: string): Promise<UiProcess> {
  const child = spawn(process.execPath, [main, 'ui', '--kubeconfig', kubeconfig], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const [url] = (await once(lines, 'line')) as [string];
  const pid = child.pid ?? 0;
  return { child, pid, url, figures: { startCpuSeconds: processorSeconds(pid) } };
}

async function measurePage(browser: Browser, url: string, objects: ClusterObjects, name: string) {
  const [firstPaintMs, firstRowsMs, changeMs]: [number[], number[], number[]] = [[], [], []];
  for (let load = 0; load < loads; load++) {
    const { page, ...times } = await loadPage(browser, url);
    firstPaintMs.push(times.firstPaintMs);
    firstRowsMs.push(times.firstRowsMs);
    if (load < loads - 1) await page.context().close();
    else for (let change = 0; change < changes; change++) changeMs.push(await seeChange(page, objects, name, change));
  }
  const ascending = (numbers: number[]) => numbers.sort((left, right) => left - right);
  return { firstPaintMs: ascending(firstPaintMs), firstRowsMs: ascending(firstRowsMs), changeMs: ascending(changeMs) };
}

/** Script for the browser. Its promise resolves to the time of the first frame with a row. */
const noticeRows = `window.firstRowsMs = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (!document.querySelector('.row a')) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
  }).observe(document, { childList: true, subtree: true });
});`;

/** Script for the browser. Its promise resolves to the time of the first contentful paint. */
const firstPaint = `new Promise((resolve) => {
  new PerformanceObserver((entries) => {
    for (const { startTime } of entries.getEntriesByName('first-contentful-paint')) resolve(startTime);
  }).observe({ type: 'paint', buffered: true });
})`;

async function loadPage(browser: Browser, url: string) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await page.addInitScript(noticeRows);
  await page.goto(url);
  const rowsMs = await page.evaluate<number>('window.firstRowsMs');
  const firstPaintMs = await page.evaluate<number>(firstPaint);
  // Uses the time of the first contentful paint if the measured time is earlier, because no row can be visible before
  // this paint.
  return { page, firstRowsMs: Math.max(rowsMs, firstPaintMs), firstPaintMs };
}

/** Writes a new status. Returns the time in ms that the web page takes to show it. */
async function seeChange(page: Page, objects: ClusterObjects, name: string, change: number): Promise<number> {
  const state = `State${change}.`;
  const seen = page.evaluate<number>(`new Promise((resolve) => {
    const look = () => {
      if (!document.querySelector('.list-pane').textContent.includes('${state}')) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(Date.now())));
    };
    const observer = new MutationObserver(look);
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    look();
  })`);
  await objects.giveStatus(plural, [name], { summary: { state } } as object);
  const writtenMs = Date.now();
  return Math.max(0, (await seen) - writtenMs);
}
