import ArgumentParser
import UsherClient

struct WatchVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Print events as they happen, one line each.")

  @OptionGroup var options: GlobalOptions

  @Option(
    name: .customLong("topic"),
    help: ArgumentHelp(
      "One of \(EventTopic.allCases.map(\.rawValue).joined(separator: ", ")); may be repeated.",
      valueName: "topic"))
  var topics: [EventTopic] = []

  @Option(help: ArgumentHelp("Start after this cursor, as far back as usherd remembers."))
  var since: Int?

  func run(at context: CommandContext) async throws {
    let topics = topics.isEmpty ? [.flow, .account, .token, .provider] : topics
    var cursor = since
    while true {
      do {
        for try await event in context.app.events(topics, since: cursor) {
          cursor = event.cursor
          try context.show(value: event) { context.console.print($0.event.line) }
        }
        return
      } catch let ended as EventsEnded where ended.cause == .overflow {
        context.console.printMessage("usherctl: \(ended); some may be missing")
        cursor = ended.cursor
      }
    }
  }
}

extension Event {
  /// The event as one line, such as
  /// `2030-01-01T00:00:00Z flow moved flw_1 work/authorize active openURL`.
  fileprivate var line: String {
    let place = [provider?.rawValue, kind].compactMap(\.self).joined(separator: "/")
    let parts: [String?] = [
      "\(at)", topic.rawValue, what, confirmation?.rawValue, client, flow?.rawValue,
      account?.rawValue, place, status?.rawValue, state, step?.rawValue,
    ]
    return parts.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: " ")
  }
}
