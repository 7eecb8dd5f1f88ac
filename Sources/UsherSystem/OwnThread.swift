import CSystemd
import Glibc

/// A dedicated thread that runs one blocking function and then ends.
enum OwnThread {
  /// Starts the thread and returns at once.
  ///
  /// - Parameters:
  ///   - name: The name that `ps` and debuggers show, at most 15 bytes.
  ///   - stackSize: The size of the stack in bytes.
  /// - Throws: If the system cannot create a thread. `body` is not called then.
  static func start(
    _ name: String? = nil, stackSize: Int = 256 << 10, _ body: @escaping @Sendable () -> Void
  ) throws(Errno) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackSize)
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    let start = Unmanaged.passRetained(ThreadStart(name, body))
    var thread = pthread_t()
    let result = pthread_create(
      &thread, &attributes,
      { raw in
        guard let raw else { return nil }
        let start = Unmanaged<ThreadStart>.fromOpaque(raw).takeRetainedValue()
        if let name = start.name { _ = usher_name_thread(name) }
        start.body()
        return nil
      }, start.toOpaque())
    guard result == 0 else {
      start.release()
      throw Errno(result)
    }
  }

  private final class ThreadStart: Sendable {
    let name: String?
    let body: @Sendable () -> Void

    init(_ name: String?, _ body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }
}
