// Clicks through the page as a person does, against a live local run, and keeps pictures.
// node page.mjs URL CHROMIUM FOLDER
import { chromium } from 'playwright-core';

const [url, executablePath, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const failures = [];
const check = (fine, what) => { if (!fine) failures.push(what); };

async function open(options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on('pageerror', (e) => failures.push(`script error: ${e.message}`));
  page.on('console', (m) => { if (m.type() === 'error' && !/404|400/.test(m.text())) failures.push(`console: ${m.text()}`); });
  page.on('request', (r) => check(r.url().startsWith(url) || r.url().startsWith('data:'), `a request to ${r.url()}`));
  const began = Date.now();
  await page.goto(`${url}/ui/`);
  await page.waitForSelector('.cell');
  return { context, page, took: Date.now() - began };
}

// A desk: the map, a card, its tenants and its last hour.
{
  const { context, page, took } = await open({ viewport: { width: 1280, height: 900 } });
  console.log(`first cards after ${took} ms`);
  check(await page.locator('.cell').count() >= 8, 'fewer than eight cards');
  await page.screenshot({ path: `${folder}/fleet.png` });
  const busy = page.locator('.cell.over').first();
  await busy.click();
  check(await page.locator('#card').isVisible(), 'a click on a card does not open it');
  check(await page.locator('#tenants tr').count() > 0, 'an open card shows no tenants');
  await page.waitForFunction(() => document.getElementById('line-held').getAttribute('points'));
  await page.screenshot({ path: `${folder}/card.png`, fullPage: true });
  await page.keyboard.press('Escape');
  check(!await page.locator('#card').isVisible(), 'Escape does not close a card');
  await page.getByRole('button', { name: 'compute over-promised' }).click();
  const shown = await page.locator('.cell').count();
  check(shown > 0 && shown === await page.locator('.cell.over').count(), 'the filter shows cards that are not over-promised');
  await page.getByRole('button', { name: 'all', exact: true }).click();
  // Break something, and see it.
  await page.selectOption('#fault', 'mps-dead');
  await page.getByRole('button', { name: 'Inject' }).click();
  await page.waitForFunction(() => document.getElementById('injected').textContent.includes('is dead'));
  await page.waitForSelector('.level.degraded, .level.failed', { timeout: 20000 });
  check((await page.locator('.why').first().textContent()).includes('MpsControlDead'), 'the page does not say why a host is degraded');
  await page.screenshot({ path: `${folder}/degraded.png` });
  await context.close();
}

// A keyboard alone.
{
  const { context, page } = await open({ viewport: { width: 1280, height: 900 } });
  await page.locator('.cell').first().focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  check(await page.locator('#card').isVisible(), 'Enter on a card does not open it');
  check(await page.evaluate(() => document.activeElement.id) === 'card-title', 'the focus does not go to the open card');
  await context.close();
}

// Dark, and a phone: nothing is wider than the screen.
for (const [name, options] of [['dark', { colorScheme: 'dark', viewport: { width: 1280, height: 900 } }], ['phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }]]) {
  const { context, page } = await open(options);
  check(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${name}: the page is wider than the screen`);
  if (name === 'dark') check(await page.evaluate(() => getComputedStyle(document.body).backgroundColor) === 'rgb(20, 23, 29)', 'dark is not dark');
  await page.screenshot({ path: `${folder}/${name}.png` });
  await context.close();
}

await browser.close();
if (failures.length) { console.error(failures.join('\n')); process.exit(1); }
