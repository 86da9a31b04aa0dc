/* SPDX-License-Identifier: Apache-2.0 */
/* Burns some CPU under a flight recording and commits events of known values. */
import java.util.HashMap;
import java.util.Map;
import jdk.jfr.Event;
import jdk.jfr.Name;

public class Burn {
	@Name("app.Values")
	static class Values extends Event {
		String text;
		int i;
		long l;
		float f;
		double d;
		boolean b;
		byte y;
		char c;
		short s;
		Class<?> k;
		Thread t;
	}

	static long work(int n) {
		Map<Integer, String> map = new HashMap<>();
		long sum = 0;

		for (int i = 0; i < n; i++) {
			map.put(i % 1000, "v" + i);
			sum += map.get(i % 1000).hashCode();
		}
		return sum;
	}

	static void commit(int n) {
		String[] texts = {null, "", "h\u00e4\u00df", "smile \uD83D\uDE00 " + n, "plain " + n};
		Values v = new Values();

		v.begin();
		v.text = texts[n % texts.length];
		v.i = -n;
		v.l = -n * 1_000_000_000_000L;
		v.f = n * 0.5f;
		v.d = n * -0.25;
		v.b = n % 2 == 0;
		v.y = (byte) -n;
		v.c = '\u20ac';
		v.s = (short) (n * 300);
		v.k = HashMap.class;
		v.t = Thread.currentThread();
		v.commit();
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + 1_200_000_000L;
		Thread other = new Thread(() -> { for (int i = 0; i < 20; i++) work(20000); }, "w\u00f6rker");

		other.start();
		for (int n = 0; System.nanoTime() < end; n++) {
			work(20000);
			commit(n);
		}
		other.join();
	}
}
