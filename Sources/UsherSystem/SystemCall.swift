package import Glibc
import UsherCore

/// A file descriptor that is closed when its owner is destroyed.
package struct Descriptor: ~Copyable, Sendable {
  package let raw: CInt

  init(_ raw: CInt) { self.raw = raw }

  /// Takes ownership of the descriptor that a C shim returned.
  ///
  /// - Parameter result: The descriptor, or a negated errno value.
  /// - Throws: The errno value if `result` is negative.
  init(result: CInt) throws(Errno) {
    guard result >= 0 else { throw Errno(-result) }
    raw = result
  }

  deinit { close(raw) }

  /// Transfers ownership of the descriptor to the caller, who must close it.
  consuming func release() -> CInt {
    let raw = self.raw
    discard self
    return raw
  }
}

/// An errno value, thrown by the wrappers of system calls.
package struct Errno: Error, Equatable {
  package let code: CInt

  init(_ code: CInt) { self.code = code }

  /// The errno value of the calling thread's last failed call.
  static var last: Errno { Errno(errno) }

  /// The C library's text for the errno value: strerror(3).
  package var words: String { String(cString: strerror(code)) }

  /// Returns an error for RPC callers and operators. Its message is the sentence, followed by the
  /// text of the errno value.
  func explained(
    _ sentence: String, as reason: UsherError.Reason = .internalError
  ) -> UsherError {
    UsherError(reason, "\(sentence): \(words)", cause: self)
  }
}

extension Descriptor {
  package static func open(
    _ path: String, _ flags: CInt, mode: mode_t = 0
  ) throws(Errno) -> Descriptor {
    let raw = Glibc.open(path, flags | O_CLOEXEC, mode)
    guard raw >= 0 else { throw .last }
    return Descriptor(raw)
  }

  static func socket(_ family: CInt, _ type: __socket_type, flags: CInt = 0) throws(Errno)
    -> Descriptor
  {
    let kind = CInt(type.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | flags
    let raw = Glibc.socket(family, kind, 0)
    guard raw >= 0 else { throw .last }
    return Descriptor(raw)
  }

  package func status() throws(Errno) -> stat {
    var status = stat()
    guard fstat(raw, &status) == 0 else { throw .last }
    return status
  }

  /// Reads until the buffer is full or the file ends. Returns the number of bytes that were read.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
    var filled = 0
    while filled < buffer.count {
      let count = Glibc.read(raw, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
      if count == 0 { break }
      if count > 0 {
        filled += count
      } else if errno != EINTR {
        throw .last
      }
    }
    return filled
  }

  /// Reads the whole file, or its first `limit` bytes if it is longer.
  ///
  /// Allocates memory in proportion to the file, not to the limit, because all freed memory is
  /// wiped, which takes time.
  package func read(atMost limit: Int) throws(Errno) -> [UInt8] {
    var bytes = try readOnce(atMost: min(limit, Self.firstRead))
    var isMore = bytes.count == Self.firstRead
    while isMore, bytes.count < limit {
      let count = min(limit - bytes.count, bytes.count)
      let next = try readOnce(atMost: count)
      bytes += next
      isMore = next.count == count
    }
    return bytes
  }

  private static var firstRead: Int { 65_536 }

  private func readOnce(atMost limit: Int) throws(Errno) -> [UInt8] {
    let result = Result<[UInt8], any Error> {
      try [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
        count = try read(into: UnsafeMutableRawBufferPointer(buffer))
      }
    }
    switch result {
    case .success(let bytes): return bytes
    case .failure(let error): throw error as? Errno ?? Errno(EIO)
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(Errno) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let chunk = UnsafeRawBufferPointer(rebasing: rest)
      let count = Glibc.write(raw, chunk.baseAddress, chunk.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw .last
      }
    }
  }

  func sync() throws(Errno) {
    guard fsync(raw) == 0 else { throw .last }
  }
}

extension stat {
  var isSocket: Bool { st_mode & S_IFMT == S_IFSOCK }
  var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
  var permissions: mode_t { st_mode & 0o7777 }
}
