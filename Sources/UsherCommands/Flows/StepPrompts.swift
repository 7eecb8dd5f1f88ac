import UsherClient

/// Asks a person for the input that a step needs, line by line.
struct StepPrompts: Sendable {
  let context: CommandContext

  var console: Console { context.console }

  /// Why a prompt got no input: the input has ended, or the person typed `<` to go back.
  enum Interruption: Error {
    case endOfInput
    case back
  }

  /// Asks for the input of the flow's step.
  ///
  /// - Returns: The input; nil if the step needs none, or if it can complete without one and there
  ///   is no person to ask.
  /// - Throws: ``CommandFailure`` if the step needs input and the input has ended.
  func ask(_ flow: Flow) async throws -> FlowInput? {
    guard let step = flow.step else { return nil }
    do {
      return try await ask(step)
    } catch Interruption.back {
      return .back(step.kind)
    } catch Interruption.endOfInput {
      if step.completesWithoutInput { return nil }
      throw CommandFailure(
        "flow \(flow.id) waits for an answer, and the input has ended",
        hints: ["cancel it: usherctl flow cancel \(flow.id)"])
    }
  }

  private func ask(_ step: Step) async throws -> FlowInput? {
    switch step {
    case .openURL(let step): try await askForRedirect(step)
    case .displayCode: nil
    case .wait(let step): try await askForChange(.init(step))
    case .enterCode(let step): try await askForCode(step)
    case .enterPassword(let step): try await askForPassword(step)
    case .choose(let step): .choice(try await choose(step.options))
    case .fillForm(let step): .form(try await fill(step.fields))
    case .consent(let step): try await askForConsent(step)
    case .exchangeCredential: try await askForExchange()
    case .localAuth(let step): try await authenticate(step)
    }
  }
}

// MARK: - Lines

extension StepPrompts {
  /// Asks a question and reads a line. White space around the line is removed unless the line is
  /// hidden.
  ///
  /// - Parameters:
  ///   - canGoBack: Whether the line `<` throws `Interruption.back`.
  ///   - countdown: The line with the remaining time that is shown above the question.
  func line(
    _ question: String, echo: Bool = true, canGoBack: Bool = false, countdown: Countdown? = nil
  ) async throws -> String {
    guard let answer = try await answer("\(question): ", echo, countdown) else {
      throw Interruption.endOfInput
    }
    let line = echo ? answer.trimmed : answer.withoutCarriageReturn
    if canGoBack && line == "<" { throw Interruption.back }
    return line
  }

  private func answer(
    _ question: String, _ echo: Bool, _ countdown: Countdown?
  ) async throws -> String? {
    guard let countdown else {
      console.prompt(question)
      return try await console.readLine(echo: echo)
    }
    return try await countdown.answer(to: question, in: context)
  }

  /// Asks until the person types a number from 1 to `count`.
  private func number(upTo count: Int, canGoBack: Bool = false) async throws -> Int {
    while true {
      let answer = try await line("number", canGoBack: canGoBack)
      if let number = Int(answer), (1...max(1, count)).contains(number) { return number }
      console.printMessage("enter a number from 1 to \(count)")
    }
  }

  private func offer(_ labels: [String]) {
    for (index, label) in labels.enumerated() { console.printMessage("  \(index + 1)  \(label)") }
  }
}

// MARK: - The steps

extension StepPrompts {
  private func askForRedirect(_ step: Step.OpenURL) async throws -> FlowInput? {
    guard console.isInteractive || step.completes == .submit else { return nil }
    let change = ChallengeChange(step)
    let hints = ["then wait, or paste the address the browser ended at"] + change.hints
    while true {
      let answer = try await line(hints.joined(separator: "; "))
      if let input = try await self.change(answer, change) { return input }
      if !answer.isEmpty { return .redirect(url: Secret(answer)) }
    }
  }

  private func askForPassword(_ step: Step.EnterPassword) async throws -> FlowInput {
    let others = step.alternatives ?? []
    let hint = [
      "not shown", step.attemptsLeft.map { "\($0.counting("attempt")) left" },
      others.isEmpty ? nil : "Enter for another method",
    ].compactMap(\.self).joined(separator: "; ")
    while true {
      let password = try await line("\(step.name) (\(hint))", echo: false)
      if !password.isEmpty { return .password(Secret(password)) }
      guard !others.isEmpty else { continue }
      return .alternative(try await choose(others))
    }
  }

  func choose(_ options: [StepOption]) async throws -> String {
    guard !options.isEmpty else {
      throw CommandFailure("the provider offers nothing to choose from")
    }
    offer(options.map(\.label))
    return options[try await number(upTo: options.count, canGoBack: true) - 1].id
  }

  /// Asks for each field of a form in turn.
  ///
  /// - Parameter besideCode: Whether the form belongs to a code. If it does, `<` goes back to the
  ///   code, and an empty optional field is sent as an empty string instead of being left out.
  func fill(_ fields: [Field], besideCode: Bool = false) async throws -> [String: Secret] {
    var values: [String: Secret] = [:]
    for field in fields {
      let value = try await ask(field, canGoBack: besideCode)
      if besideCode || !value.isEmpty { values[field.name] = Secret(value) }
    }
    return values
  }

  private func ask(_ field: Field, canGoBack: Bool) async throws -> String {
    let isHidden = field.type == .password
    let hints = [
      field.type.hint, field.required ? nil : "optional", isHidden ? "not shown" : nil,
    ].compactMap(\.self)
    let name = field.displayName
    let question = hints.isEmpty ? name : "\(name) (\(hints.joined(separator: ", ")))"
    while true {
      let value = try await line(question, echo: !isHidden, canGoBack: canGoBack && !isHidden)
      if value.isEmpty && field.required {
        console.printMessage("\(name) is required")
      } else if let limit = field.maxLength, value.count > limit {
        console.printMessage("enter at most \(limit) characters")
      } else {
        return value
      }
    }
  }

  private func askForConsent(_ step: Step.Consent) async throws -> FlowInput {
    offer(step.grants.map { $0.label + ($0.remembered ? " (granted before)" : "") })
    while true {
      let answer = try await line("Enter to grant all, numbers to grant some, n to deny")
      if answer == "n" { return .denied }
      if answer.isEmpty { return .granted(step.grants.map(\.id)) }
      let numbers = answer.split { $0 == " " || $0 == "," }.map { Int($0) }
      let known = 1...max(1, step.grants.count)
      if !numbers.isEmpty, numbers.allSatisfy({ $0.map(known.contains) ?? false }) {
        let chosen = zip(known, step.grants).filter { numbers.contains($0.0) }
        return .granted(chosen.map(\.1.id))
      }
      console.printMessage("enter numbers from this list")
    }
  }

  /// Asks the person for the answer of the app's backend. It contains secrets, so the terminal does
  /// not show it.
  private func askForExchange() async throws -> FlowInput {
    console.printMessage("the backend's answer as a JSON object, or 'failed REASON'")
    while true {
      let answer = try await line("answer (not shown)", echo: false).trimmed
      if answer == "failed" { return .exchangeFailed(reason: "failed") }
      if answer.hasPrefix("failed ") {
        return .exchangeFailed(reason: String(answer.dropFirst("failed ".count)).trimmed)
      }
      do {
        return try FlowInput(backendAnswer: Secret(answer))
      } catch {
        console.printMessage("invalid answer: \(error.reason)")
      }
    }
  }
}

extension Step {
  /// Whether the daemon can complete the step without input from usherctl.
  fileprivate var completesWithoutInput: Bool {
    switch self {
    case .openURL(let step): step.completes != .submit
    case .displayCode: true
    case .wait(let step): step.takesConfirmation != true
    case .localAuth(let step): step.scanning
    case .enterCode, .enterPassword, .choose, .fillForm, .consent, .exchangeCredential: false
    }
  }
}

extension Field {
  /// The field's name in words: `first name` for `firstName`.
  fileprivate var displayName: String {
    name.replacing(/([a-z])([A-Z])/) { "\($0.1) \($0.2)" }.lowercased()
  }
}

extension Field.Form {
  fileprivate var hint: String? {
    switch self {
    case .text, .password: nil
    case .email: "an e-mail address"
    case .phone: "a phone number"
    case .date: "YYYY-MM-DD"
    }
  }
}

extension String {
  fileprivate var trimmed: String {
    let start = drop { $0.isWhitespace }
    guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(start[...end])
  }

  var withoutCarriageReturn: String { hasSuffix("\r") ? String(dropLast()) : self }
}
