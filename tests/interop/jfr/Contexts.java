/* SPDX-License-Identifier: Apache-2.0 */
/* Contextual events that nest, cross, end inside others, are empty, and reach over chunks. */
import jdk.jfr.Contextual;
import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.Recording;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

public class Contexts {
	@Name("app.Trace")
	static class Trace extends Event {
		@Contextual String id;
		@Contextual String name;
		int other;

		Trace(String id) {
			this.id = id;
			begin();
		}
	}

	@Name("app.Order")
	@StackTrace(false)
	static class Order extends Event {
		@Contextual long id = -7;
		@Contextual @Timespan(Timespan.MILLISECONDS) long took = 1500;
		@Contextual @DataAmount long size = 4096;
		@Contextual Thread who = Thread.currentThread();
		@Contextual Class<?> type = String.class;
	}

	@Name("app.Work")
	@StackTrace(false)
	static class Work extends Event {
		int n;

		Work(int n) {
			this.n = n;
			begin();
		}
	}

	static void work(int n) {
		new Work(n).commit();
	}

	/* so that no event ends in the tick in which a context does */
	static void gap() {
		long start = System.nanoTime();

		while (System.nanoTime() - start < 2000)
			Thread.onSpinWait();
	}

	static void end(Event e) {
		gap();
		e.commit();
		gap();
	}

	static void nested() throws Exception {
		Trace outer = new Trace("outer \"q\" \n x");
		Order order = new Order();
		Trace inner;
		Work around;
		Thread other = new Thread(() -> {
			Trace t = new Trace("other thread");
			work(100);
			end(t);
			work(101);
		});

		work(1);
		order.begin();
		work(2);
		inner = new Trace("inner");
		work(3);
		end(inner);
		work(4);
		other.start();
		other.join();
		inner = new Trace("crossing");
		end(order);
		work(5);
		around = new Work(6);
		end(new Trace("within work"));
		end(around);
		around = new Work(7);
		Trace late = new Trace("work ends inside");
		end(around);
		end(late);
		end(inner);
		work(8);
		end(outer);
		work(9);
	}

	static void over_chunks() {
		Trace whole = new Trace("over all chunks");

		for (int i = 0; i < 6; i++) {
			Trace own = new Trace("chunk " + i);

			work(1000 + i);
			end(own);
			own = new Trace("border " + i);
			work(2000 + i);
			try (Recording r = new Recording()) {
				r.start();
			}
			work(3000 + i);
			end(own);
			work(4000 + i);
		}
		end(whole);
		work(5000);
	}

	public static void main(String[] args) throws Exception {
		work(0);
		nested();
		over_chunks();
	}
}
