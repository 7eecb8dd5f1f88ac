import Glibc

/// A thread for one piece of work that blocks, and no longer.
enum OwnThread {
  /// Returns at once.
  ///
  /// - Throws: Where the system has no thread left; `body` is not called then.
  static func start(_ body: @escaping @Sendable () -> Void) throws(Errno) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackSize)
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    let work = Unmanaged.passRetained(Work(body))
    var thread = pthread_t()
    let result = pthread_create(
      &thread, &attributes,
      { raw in
        guard let raw else { return nil }
        Unmanaged<Work>.fromOpaque(raw).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    guard result == 0 else {
      work.release()
      throw Errno(result)
    }
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private static let stackSize = 256 << 10
}
