import Dispatch
import FoundationEssentials
import Glibc
import UsherCommands
import UsherCore

@main struct Main {
  static func main() async {
    let process = ProcessInfo.processInfo
    let environment = process.environment
    let world = World(
      terminal: StandardTerminal(environment: environment),
      browser: DesktopBrowser(environment: environment), programs: Shell(), clock: SystemClock(),
      sleep: { try await Task.sleep(for: $0) }, environment: environment, userID: geteuid())
    let arguments = Array(process.arguments.dropFirst())
    let running = Task { await Usherctl.run(arguments, in: world) }
    let interrupts = onInterrupt { running.cancel() }
    let status = await running.value
    interrupts.cancel()
    exit(status)
  }

  /// The first Ctrl-C ends what runs in good order; the second ends the process.
  private static func onInterrupt(
    _ body: @escaping @Sendable () -> Void
  ) -> any DispatchSourceSignal {
    signal(SIGINT, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler {
      signal(SIGINT, SIG_DFL)
      body()
    }
    source.resume()
    return source
  }
}
