import Dispatch
import FoundationEssentials
import Glibc
import UsherCommands

@main struct Main {
  static func main() async {
    let arguments = Array(ProcessInfo.processInfo.arguments.dropFirst())
    let running = Task { await Usherctl.run(arguments, in: .ofProcess()) }
    let interrupts = [SIGINT, SIGTERM, SIGHUP].compactMap { number in
      on(number) { running.cancel() }
    }
    let status = await running.value
    for source in interrupts { source.cancel() }
    exit(status)
  }

  /// Handles a signal: the first one cancels the command, which then removes its temporary files; a
  /// second Ctrl-C ends the process. A second SIGTERM or SIGHUP does not end it: a closing terminal
  /// often sends them twice.
  private static func on(
    _ number: CInt, _ body: @escaping @Sendable () -> Void
  ) -> (any DispatchSourceSignal)? {
    // SIGHUP is already ignored if nohup(1) has started this process.
    if number == SIGHUP && isIgnored(number) { return nil }
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler {
      if number == SIGINT { signal(SIGINT, SIG_DFL) }
      body()
    }
    source.resume()
    return source
  }

  private static func isIgnored(_ number: CInt) -> Bool {
    var action = sigaction()
    sigaction(number, nil, &action)
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
