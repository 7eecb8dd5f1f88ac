/// One fingerprint reader, accessed through fprintd 1.94: net.reactivated.Fprint.Manager and
/// net.reactivated.Fprint.Device.
///
/// Each session has its own bus connection. When the connection ends, fprintd releases the reader
/// that was claimed through it, even if fprintd has stopped answering calls.
struct FprintDevice {
  private let bus: MessageBus
  /// The unique bus name of fprintd's connection. No other process can reply or signal under this
  /// name.
  private let owner: String
  private let path: String
  private let callLimit: Duration

  /// Connects to the bus and finds fprintd's default reader. The bus daemon starts fprintd if
  /// necessary.
  ///
  /// - Parameters:
  ///   - address: The address of the bus, as for ``MessageBus``.
  ///   - callLimit: The maximum duration of one call.
  init(
    address: String?, interruption: Interruption, callLimit: Duration
  ) throws(FingerprintError) {
    let call = BusCall(
      destination: "net.reactivated.Fprint", path: "/net/reactivated/Fprint/Manager",
      interface: "net.reactivated.Fprint.Manager", member: "GetDefaultDevice")
    do throws(BusError) {
      let bus = try MessageBus(address: address, interruption: interruption)
      let answer = try bus.call(call, until: .now + callLimit)
      guard let owner = answer.sender else { throw .malformed }
      self.owner = owner
      path = try answer.string()
      self.bus = bus
    } catch .refused("org.freedesktop.DBus.Error.ServiceUnknown", _) {
      throw .noReader
    } catch {
      throw FingerprintError(error)
    }
    self.callLimit = callLimit
  }

  func enrolledFingers(of user: String) throws(FingerprintError) -> [String] {
    do throws(BusError) {
      return try bus.call(method("ListEnrolledFingers", user), until: .now + callLimit).strings()
        .sorted()
    } catch .refused("net.reactivated.Fprint.Error.NoEnrolledPrints", _) {
      return []
    } catch {
      throw FingerprintError(error)
    }
  }

  /// Claims the reader for the user, scans a finger and releases the reader, whatever the result
  /// is.
  func verify(
    user: String, until deadline: MessageBus.Instant, onHint: (FingerprintHint) -> Void
  ) throws(FingerprintError) -> FingerprintVerdict {
    do throws(BusError) {
      try bus.listen(for: ownerChangeSignal, until: .now + callLimit)
      // The reader must be released if Claim succeeded, so its outcome must be known: only the time
      // limit ends this call, not a cancellation.
      _ = try bus.call(
        method("Claim", user), until: .now + callLimit, mayBeInterrupted: false)
    } catch {
      throw FingerprintError(error)
    }
    let end = Result { () throws(BusError) in try scan(until: deadline, onHint: onHint) }
    let releaseError = release()
    switch end {
    case .success(.verdict(let verdict)): return verdict
    case .success(.disconnected): throw .unplugged
    case .success(.failed(let status)):
      // For a reader that was disconnected during the scan, fprintd reports an ordinary failure,
      // but then also refuses to release the reader.
      if case .refused = releaseError { throw .unplugged }
      throw .unavailable("the fingerprint reader failed: \(status)")
    case .failure(.late) where ContinuousClock.now >= deadline: throw .timedOut
    case .failure(let problem): throw FingerprintError(problem)
    }
  }

  private func scan(
    until deadline: MessageBus.Instant, onHint: (FingerprintHint) -> Void
  ) throws(BusError) -> VerifyStatus.End {
    // Subscribes only after Claim has succeeded. Earlier signals belong to another client's scan.
    try bus.listen(for: status, until: min(.now + callLimit, deadline))
    _ = try bus.call(method("VerifyStart", "any"), until: min(.now + callLimit, deadline))
    while true {
      let (signal, message) = try bus.nextSignal(until: deadline)
      guard signal == status else { throw .gone }
      let (result, isDone) = try message.stringAndFlag()
      switch VerifyStatus(status: result, isDone: isDone) {
      case .continues(let hint): onHint(hint)
      case .ended(let end): return end
      }
    }
  }

  /// Stops the scan and releases the reader.
  ///
  /// Returns fprintd's error, or nil. After an error, closing the bus connection releases the
  /// reader.
  private func release() -> BusError? {
    do throws(BusError) {
      do throws(BusError) {
        _ = try bus.call(
          method("VerifyStop"), until: .now + callLimit, mayBeInterrupted: false)
      } catch .refused {
        // The scan did not start, or it has already ended: nothing has to be stopped.
      }
      _ = try bus.call(method("Release"), until: .now + callLimit, mayBeInterrupted: false)
      return nil
    } catch {
      return error
    }
  }

  private func method(_ member: String, _ argument: String? = nil) -> BusCall {
    BusCall(
      destination: owner, path: path, interface: Self.interface, member: member,
      argument: argument)
  }

  private var status: BusSignal {
    BusSignal(sender: owner, path: path, interface: Self.interface, member: "VerifyStatus")
  }

  private var ownerChangeSignal: BusSignal {
    BusSignal(
      sender: MessageBus.daemon, path: "/org/freedesktop/DBus", interface: MessageBus.daemon,
      member: "NameOwnerChanged", subject: owner)
  }

  private static let interface = "net.reactivated.Fprint.Device"
}
