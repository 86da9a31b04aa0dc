/* SPDX-License-Identifier: Apache-2.0 */
/* Commits events of every kind of field with values at the borders of how they are printed. */
import java.nio.file.Files;
import java.nio.file.Path;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.Frequency;
import jdk.jfr.MemoryAddress;
import jdk.jfr.Name;
import jdk.jfr.Percentage;
import jdk.jfr.Recording;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import jdk.jfr.Timestamp;
import jdk.jfr.Unsigned;

public class Every {
	@Name("app.Kinds")
	@Category({"App", "All of Them"})
	static class Kinds extends Event {
		String text;
		boolean flag;
		byte y;
		short s;
		char c;
		int i;
		long l;
		float f;
		double d;
		Class<?> k;
		Thread t;
		@Unsigned byte uy;
		@Unsigned short us;
		@Timestamp(Timestamp.MILLISECONDS_SINCE_EPOCH) long epoch;
		@Timestamp(Timestamp.TICKS) long ticks;
		@MemoryAddress long address;
		@Frequency int hertz;
	}

	@Name("app.Amounts")
	@StackTrace(false)
	static class Amounts extends Event {
		@Timespan(Timespan.NANOSECONDS) long ns;
		@Timespan(Timespan.MICROSECONDS) long us;
		@Timespan(Timespan.MILLISECONDS) long ms;
		@Timespan(Timespan.SECONDS) long s;
		@Timespan(Timespan.TICKS) long ticks;
		@Timespan(Timespan.MILLISECONDS) int ims;
		@DataAmount long bytes;
		@DataAmount(DataAmount.BITS) long bits;
		@DataAmount @Frequency long bytesPerSecond;
		@DataAmount(DataAmount.BITS) @Frequency long bitsPerSecond;
		@Percentage double share;
		@Percentage float single;
	}

	/* what no terminal and no XML may hold */
	@Name("app.Nasty")
	@StackTrace(false)
	static class Nasty extends Event {
		String text;
		char c;
	}

	static final String[] TEXTS = {null, "", "plain", "\"quoted\\\" 'single' <tag> & ]]>", "tab\there",
		"two\nlines", "caf\u00e9 \u20ac \u4e2d", "/slash/", "x".repeat(300)};
	static final String[] NASTY = {"bell\u0007 escape\u001b[31m", "nul\u0000 delete\u007f next\u0085",
		"\b\f\r", "pair \ud83d\ude00", "<\u0001>"};
	static final char[] CHARS = {'a', '"', '<', '\u20ac', '\n', '\t', '/'};
	static final double[] REALS = {0, -0.0, 1, -1, 0.1, 0.001, 0.5, 1e7, 9999999, 123456.789, 1e10, 1e-10,
		Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.MAX_VALUE, 9.999E-4, 3e-5,
		0.00125, 0.99995, 0.12345};
	static final long[] LONGS = {0, 1, -1, Long.MIN_VALUE, 999, 1000, 1023, 1024, 1025, 1280, 1536,
		-5000, 999499, 999500, 999999, 1048576, 12345000, 12350000, 59949999999L, 59950000000L,
		59999999999L, 60000000000L, 3599499999999L, 3599500000000L, 86369999999999L,
		86370000000000L, 172800000000000L, 1073741823, 1099511627775L};
	static final long[] MOMENTS = {0, 1, -1, Long.MIN_VALUE, 1700000000000L, 1709210096789L,
		-1234567890L, 253402300800000L, 60000, 3600000};

	static void kinds(int n) {
		Kinds e = new Kinds();

		e.begin();
		e.text = TEXTS[n % TEXTS.length];
		e.flag = n % 2 == 0;
		e.y = (byte) (n * 7);
		e.s = (short) (n * 401);
		e.c = CHARS[n % CHARS.length];
		e.i = n % 5 == 0 ? Integer.MIN_VALUE : n * 1000003;
		e.l = LONGS[n % LONGS.length];
		e.f = (float) REALS[n % REALS.length];
		e.d = REALS[(n * 5) % REALS.length];
		e.k = n % 4 == 0 ? null : n % 4 == 1 ? String.class : n % 4 == 2 ? int[][].class : Thread[].class;
		e.t = n % 2 == 0 ? null : Thread.currentThread();
		e.uy = (byte) (n % 128);
		e.us = (short) (n * 100);
		e.epoch = MOMENTS[n % MOMENTS.length];
		e.ticks = n % 3 == 0 ? Long.MIN_VALUE : System.nanoTime();
		e.address = LONGS[n % LONGS.length];
		e.hertz = n * 37;
		e.commit();
	}

	static void amounts(int n) {
		Amounts e = new Amounts();
		long v = LONGS[n % LONGS.length];

		e.ns = v;
		e.us = v == Long.MIN_VALUE ? v : v / 1000;
		e.ms = v == Long.MIN_VALUE ? v : v / 10;
		e.s = v == Long.MIN_VALUE ? v : v / 1000;
		e.ticks = v;
		e.ims = (int) (v % 1000000);
		e.bytes = v;
		e.bits = v;
		e.bytesPerSecond = v;
		e.bitsPerSecond = v;
		e.share = REALS[n % REALS.length] % 1e6;
		e.single = (float) (REALS[(n + 3) % REALS.length] % 1e3);
		e.commit();
	}

	static int deep(int n) {
		if (n > 0)
			return deep(n - 1) + 1;
		kinds(3);
		return 0;
	}

	public static void main(String[] args) throws Exception {
		Object lock = new Object();

		for (int i = 0; i < 120; i++) {
			kinds(i);
			amounts(i);
		}
		deep(4);
		deep(80);
		for (int i = 0; i < NASTY.length; i++) {
			Nasty e = new Nasty();

			e.text = NASTY[i];
			e.c = NASTY[i].charAt(0);
			e.commit();
		}
		for (int i = 0; i < 1; i++) { /* chunks more */
			try (Recording r = new Recording()) {
				r.start();
			}
			synchronized (lock) {
				lock.wait(25);
			}
			kinds(i);
			System.gc();
		}
		Files.write(Path.of(args[0]), new byte[1 << 20]);
	}
}
