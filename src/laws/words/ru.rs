//! The words in Russian, in the vocabulary of the federation's translation of the Laws.

mod forms;

use forms::{
    capitalised, counted, ordinal, piece, player, side, side_dative, side_genitive, side_instrumental,
};

use super::{ActMove, IllegalReason, Language, Occurrence, clock_face};
use crate::{
    event::{Certainty, ClockFrom, ClockState},
    laws::Edition,
    terms::{
        IrregularityKind::{self, *},
        Penalty, PenaltyKind, PositionRuling,
    },
};

pub(super) struct Russian;

fn described(act: ActMove) -> String {
    let name = act.piece.map_or("фигура", piece);
    format!("{name} {}-{}", act.from, act.to)
}

fn list(items: &[String]) -> String {
    items.join(", ")
}

fn name(kind: IrregularityKind) -> &'static str {
    match kind {
        IllegalMove => "Невозможный ход",
        PromotionNotReplaced => "Пешка не заменена",
        PressWithoutMove => "Часы нажаты без хода",
        TwoHands => "Ход двумя руками",
        InitialPositionWrong => "Неправильная начальная позиция",
        BoardOrientationWrong => "Доска расположена неправильно",
        ColoursReversed => "Перепутан цвет фигур",
        PiecesDisplaced => "Фигуры смещены",
        DisplacedPieceFound => "Фигура не на своём поле",
        InvertedRookPromotion => "Перевёрнутая ладья",
        WrongColourPromotion => "Превращение в фигуру чужого цвета",
        CastlingIncomplete => "Рокировка не завершена",
        TouchMove => "Правило «тронул — ходи»",
        RookFirstCastling => "Рокировка начата с ладьи",
        MovedOutOfTurn => "Ход не в свою очередь",
        PressWithOtherHand => "Часы нажаты другой рукой",
        FlagFall => "Падение флажка",
        BothFlags => "Упали оба флажка",
        DeadPosition => "Мёртвая позиция",
        ThreefoldClaim => "Троекратное повторение позиции",
        FiftyClaim => "Правило 50 ходов",
        Fivefold => "Пятикратное повторение",
        SeventyFive => "Правило 75 ходов",
        IllegalPositionObserved => "Невозможная позиция",
        ClockSettingWrong => "Неверная установка часов",
        PauseWithoutReason => "Часы остановлены без причины",
        ClaimFromScreen => "Требование по показаниям экрана",
        LateArrival => "Опоздание",
        ElectronicDevice => "Электронное устройство",
        NotRecording => "Ходы не записываются",
        Disturbing => "Помехи сопернику",
        DrawOfferIrregular => "Неправильное предложение ничьей",
        Other => "Другое нарушение",
    }
}

fn reason_name(reason: IllegalReason) -> &'static str {
    match reason {
        IllegalReason::KingLeftInCheck => "король оставлен под шахом",
        IllegalReason::PieceCannotMoveSo => "фигура так не ходит",
        IllegalReason::CastlingNotAllowed => "рокировка невозможна",
        IllegalReason::CastledOtherwise => "рокировка сделана не по правилам",
        IllegalReason::OpponentsPieceMoved => "ход фигурой соперника",
        IllegalReason::OwnPieceCaptured => "взятие собственной фигуры",
        IllegalReason::KingCaptured => "взятие короля",
        IllegalReason::Unexplained => "позиция не объясняется возможным ходом",
    }
}

fn illegal_fact(o: &Occurrence<'_>) -> String {
    let who = player(o.offender);
    match (o.reason, o.act) {
        (Some(IllegalReason::KingLeftInCheck), _) => {
            let whose = o.offender.map_or("игрока", side_genitive);
            format!("После хода король {whose} находится под боем.")
        }
        (
            Some(IllegalReason::PieceCannotMoveSo),
            Some(ActMove {
                piece: Some(role),
                from,
                to,
            }),
        ) => {
            format!("{} не может пойти с {from} на {to}.", capitalised(piece(role)))
        }
        (Some(IllegalReason::PieceCannotMoveSo), _) => "Эта фигура так не ходит.".to_owned(),
        (Some(IllegalReason::CastlingNotAllowed), _) => {
            format!("{who}: сделана рокировка, которая сейчас невозможна.")
        }
        (Some(IllegalReason::CastledOtherwise), _) => {
            format!("{who}: король и ладья переставлены не так, как при рокировке (3.8.2).")
        }
        (Some(IllegalReason::OpponentsPieceMoved), _) => format!("{who}: сделан ход фигурой соперника."),
        (Some(IllegalReason::OwnPieceCaptured), _) => {
            format!("{who}: фигура поставлена на поле, занятое фигурой того же цвета.")
        }
        (Some(IllegalReason::KingCaptured), _) => {
            "С доски снят король соперника, а это само по себе невозможный ход.".to_owned()
        }
        (Some(IllegalReason::Unexplained), _) if !o.squares.is_empty() => {
            format!(
                "Часы нажаты, но ни один возможный ход не объясняет положение на доске; сверьте поля {}.",
                list(o.squares)
            )
        }
        (Some(IllegalReason::Unexplained), _) => {
            "Часы нажаты, но ни один возможный ход не объясняет положение на доске.".to_owned()
        }
        (None, _) => "Ход противоречит правилам передвижения фигур, и часы уже нажаты.".to_owned(),
    }
}

/// A time in the accusative, for what the arbiter adds.
fn duration(seconds: u32) -> String {
    if seconds >= 60 && seconds.is_multiple_of(60) {
        counted(seconds / 60, "минуту", "минуты", "минут")
    } else {
        counted(seconds, "секунду", "секунды", "секунд")
    }
}

/// Both times, and whose clock is to run.
fn faces(clock: &ClockState) -> String {
    let times = format!(
        "белые {}, чёрные {}",
        clock_face(clock.white_ms),
        clock_face(clock.black_ms)
    );
    match clock.running {
        Some(s) => format!("{times}; запустить часы {}", side_genitive(s)),
        None => times,
    }
}

/// How the proposed times come about.
fn origin(o: &Occurrence<'_>) -> String {
    let Some(working) = &o.advice.clock_working else {
        return String::new();
    };
    let mut parts = match working.from {
        ClockFrom::Press if working.returned_ms + working.increment_ms == 0 => return String::new(),
        ClockFrom::Press => vec!["как при нажатии".to_owned()],
        ClockFrom::Position => vec!["как записано для восстановленной позиции".to_owned()],
        ClockFrom::Now => vec!["нынешнее".to_owned()],
    };
    if working.increment_ms > 0 {
        parts.push(format!(
            "без добавленных за него {} с",
            working.increment_ms / 1000
        ));
    }
    if working.returned_ms > 0 {
        parts.push(format!("с возвратом потерянных {} с", working.returned_ms / 1000));
    }
    format!(" ({})", parts.join(", "))
}

/// Why play goes on, and on which condition.
fn goes_on(o: &Occurrence<'_>, kind: IrregularityKind) -> &'static str {
    match kind {
        FlagFall | BothFlags if o.cites("6.4") || o.cites("6.3") => {
            "Ходы, предписанные на контроль, сделаны; партия продолжается."
        }
        FlagFall if o.cites("B6") => {
            "Партия продолжается, если соперник не требует зафиксировать падение флажка."
        }
        FlagFall => "Партия продолжается, пока падение флажка не замечено или не заявлено.",
        BothFlags if o.cites("III.3.1.1") || o.cites("III.3.1") => {
            "Партия продолжается; на последнем контроле она закончилась бы вничью."
        }
        BothFlags => "Партия продолжается.",
        TouchMove | RookFirstCastling if o.cites("B5") => {
            "Партия продолжается, если игрок не потребует иного."
        }
        TouchMove | RookFirstCastling => "Партия продолжается: заявлять об этом уже поздно.",
        InitialPositionWrong => {
            "Партия продолжается; рокировка с неверно поставленными королём или ладьёй исключена."
        }
        IllegalPositionObserved => {
            "Подождать, пока не будет завершён следующий ход; если позиция и тогда невозможная, партия заканчивается вничью."
        }
        ClockSettingWrong if o.advice.penalty.kind == PenaltyKind::Arbiter => {
            "Исправить установку часов; партия продолжается."
        }
        ThreefoldClaim | FiftyClaim if o.is_wrong_claim() => {
            "Партия продолжается; ход, заявленный вместе с требованием, должен быть сделан."
        }
        NotRecording if o.is_not_required() => "Партия продолжается; записывать ходы в ней не обязательно.",
        DrawOfferIrregular if o.cites("9.1.2") => {
            "Партия продолжается; если регламент допускает предложения ничьей, это действительно, пока не отклонено."
        }
        _ => "Партия продолжается с имеющейся позиции.",
    }
}

impl Language for Russian {
    fn title(&self, o: &Occurrence<'_>) -> String {
        let mut title = if o.is_wrong_claim() {
            format!("Неверное требование ничьей ({})", name(o.kind).to_lowercase())
        } else {
            name(o.kind).to_owned()
        };
        match (o.kind, o.offender) {
            (TouchMove | TwoHands, Some(s)) if o.certainty == Certainty::Suspected => {
                title = format!("{title}? ({})", side(s));
            }
            (_, Some(s)) => title = format!("{title}: {}", side(s)),
            (_, None) => {}
        }
        if let Some(act) = o.act {
            title = format!("{title}, {}", described(act));
        } else if !o.squares.is_empty() {
            title = format!("{title}, {}", list(o.squares));
        }
        match o.reason {
            Some(reason) if o.kind == IllegalMove => format!("{title} ({})", reason_name(reason)),
            _ => title,
        }
    }

    fn doubt(&self, o: &Occurrence<'_>) -> Option<String> {
        match o.certainty {
            Certainty::Certain => None,
            Certainty::Probable => {
                Some("Вероятно, но не достоверно: сначала посмотрите на доску.".to_owned())
            }
            Certainty::Suspected => Some(
                "Это лишь намёк датчиков: пока никто не подтвердил, нарушение не установлено.".to_owned(),
            ),
        }
    }

    fn doubt_in_a_word(&self, certainty: Certainty) -> &'static str {
        match certainty {
            Certainty::Certain => "",
            Certainty::Probable => "Вероятно.",
            Certainty::Suspected => "Лишь подозрение.",
        }
    }

    fn fact(&self, o: &Occurrence<'_>) -> String {
        let who = player(o.offender);
        let at = if o.squares.is_empty() {
            String::new()
        } else {
            format!(" ({})", list(o.squares))
        };
        match o.kind {
            IllegalMove => illegal_fact(o),
            PromotionNotReplaced => format!("Пешка дошла до последней горизонтали{at}, часы нажаты, а новая фигура не поставлена."),
            PressWithoutMove => format!("{who}: часы нажаты, хотя ход не был сделан."),
            TwoHands if o.certainty == Certainty::Suspected => {
                format!("Две фигуры{at} были сняты с доски одновременно, как бывает при ходе двумя руками.")
            }
            TwoHands => format!("{who}: один ход сделан двумя руками."),
            InitialPositionWrong => format!("В начале партии фигуры были расставлены неверно{at}."),
            BoardOrientationWrong => "Угловое поле справа от игрока не белое.".to_owned(),
            ColoursReversed if o.certainty == Certainty::Certain => {
                "Игроки играют не теми цветами, которые им назначены.".to_owned()
            }
            ColoursReversed => "Фигуры расставлены с другой стороны, чем указано в настройках доски: проверьте, теми ли цветами играют игроки.".to_owned(),
            PiecesDisplaced => format!("Фигуры сбиты со своих полей{at}; виновный восстанавливает позицию за счёт своего времени."),
            DisplacedPieceFound => format!("Положение на доске отличается от партии там, где ходов не было{at}."),
            InvertedRookPromotion => "Перевёрнутая ладья считается ладьёй.".to_owned(),
            WrongColourPromotion => format!("Новая фигура{at} имеет цвет соперника."),
            CastlingIncomplete => "Король передвинут на два поля, ладья осталась на месте, и часы нажаты.".to_owned(),
            TouchMove if o.certainty == Certainty::Suspected => {
                format!("Фигуру{at} подняли и вернули, затем пошли другой; при поправлении фигур всё выглядит так же.")
            }
            TouchMove => format!("Сделан ход не той фигурой, к которой игрок прикоснулся первой{at}."),
            RookFirstCastling => format!("{who}: при рокировке ладья тронута раньше короля."),
            MovedOutOfTurn => format!("{who}: сделан ход вне очереди; невозможным ходом это не считается."),
            PressWithOtherHand => "Ход сделан одной рукой, а часы нажаты другой.".to_owned(),
            FlagFall => o.offender.map_or_else(
                || "Время одного из игроков истекло.".to_owned(),
                |s| format!("Время {} истекло.", side_genitive(s)),
            ),
            BothFlags => o.first_flag.map_or_else(
                || "Упали оба флажка; какой из них упал первым, неизвестно.".to_owned(),
                |s| format!("Упали оба флажка; флажок {} упал первым.", side_genitive(s)),
            ),
            DeadPosition => "Ни одна из сторон не может поставить мат никакой серией возможных ходов.".to_owned(),
            ThreefoldClaim | FiftyClaim if o.is_wrong_claim() => "Требование не подтвердилось.".to_owned(),
            ThreefoldClaim | FiftyClaim if o.advice.penalty.kind == PenaltyKind::Draw => {
                "Требование подтвердилось.".to_owned()
            }
            ThreefoldClaim => "Позиция возникла в третий раз; для ничьей нужно требование игрока.".to_owned(),
            FiftyClaim => "Каждая сторона сделала по 50 ходов без взятий и ходов пешек; для ничьей нужно требование игрока.".to_owned(),
            Fivefold => "Позиция возникла не менее пяти раз.".to_owned(),
            SeventyFive => "Каждая сторона сделала по 75 ходов без взятий и ходов пешек.".to_owned(),
            IllegalPositionObserved => format!("Эта позиция{at} не могла возникнуть в результате возможных ходов."),
            ClockSettingWrong => "Время или добавление на часах не соответствует регламенту.".to_owned(),
            PauseWithoutReason => "Часы остановлены, и уважительная причина неизвестна.".to_owned(),
            ClaimFromScreen => "Требование нельзя основывать только на показаниях экрана.".to_owned(),
            LateArrival if o.cites("6.7") => {
                format!("{who}: опоздание на партию. После истечения времени допустимого опоздания партия проиграна, если арбитр не решит иначе.")
            }
            LateArrival => {
                format!("{who}: опоздание на партию. При опоздании более чем на час партия проиграна, если регламент или арбитр не решит иначе.")
            }
            ElectronicDevice => format!("{who}: в игровой зоне обнаружено неразрешённое электронное устройство."),
            NotRecording => format!("{who}: ходы не записываются."),
            Disturbing => format!("{who}: сопернику мешали, отвлекая или беспокоя его."),
            DrawOfferIrregular => format!("{who}: ничья предложена не между ходом и нажатием часов."),
            Other => "Арбитр записал нарушение другого рода.".to_owned(),
        }
    }

    fn note(&self, note: &str) -> String {
        format!("Примечание: «{note}».")
    }

    fn position(&self, o: &Occurrence<'_>) -> String {
        match (o.advice.position, o.kind) {
            (PositionRuling::ReinstateBefore, PressWithoutMove) => {
                let whose = o.offender.map_or("тем же игроком", side_instrumental);
                format!("Положение на доске не меняется, ход по-прежнему за {whose}.")
            }
            (PositionRuling::ReinstateBefore, IllegalMove) => {
                "Вернуть позицию, бывшую непосредственно перед нарушением; ходить следует тронутой фигурой, если у неё есть возможный ход.".to_owned()
            }
            (PositionRuling::ReinstateBefore, TouchMove) => {
                "Вернуть позицию, бывшую непосредственно перед нарушением; ходить следует фигурой, тронутой первой, если это возможно.".to_owned()
            }
            (PositionRuling::ReinstateBefore, RookFirstCastling) => {
                "Вернуть позицию, бывшую непосредственно перед нарушением; ходить следует ладьёй, если это возможно, рокировка в эту сторону этим ходом исключена.".to_owned()
            }
            (PositionRuling::ReinstateBefore, PiecesDisplaced) => "Вернуть фигуры на свои поля.".to_owned(),
            (PositionRuling::ReinstateBefore, MovedOutOfTurn) => "Взять этот ход назад.".to_owned(),
            (PositionRuling::ReinstateBefore, _) => {
                "Вернуть позицию, бывшую непосредственно перед нарушением.".to_owned()
            }
            (PositionRuling::LastIdentifiable, _) => {
                "Продолжить с последней позиции, которую можно установить.".to_owned()
            }
            (PositionRuling::Continue, kind) => goes_on(o, kind).to_owned(),
            (PositionRuling::NewGame, _) => "Отменить партию и сыграть новую.".to_owned(),
            (PositionRuling::Transfer, _) => "Перенести позицию на правильно расположенную доску и продолжить партию.".to_owned(),
            (PositionRuling::ReplaceWithQueen, _) => match o.squares.first() {
                Some(square) => format!("Поставить на {square} ферзя того же цвета, что и пешка."),
                None => "Поставить вместо пешки ферзя того же цвета.".to_owned(),
            },
            (PositionRuling::Stands, _) => "Позиция остаётся.".to_owned(),
        }
    }

    fn penalty(&self, o: &Occurrence<'_>, penalty: &Penalty) -> String {
        match (penalty.kind, penalty.to) {
            (PenaltyKind::Time, Some(to)) => {
                let added = format!("Добавить {} {}", side_dative(to), duration(penalty.seconds));
                match o.offence_number {
                    0 => format!("{added}."),
                    n => format!(
                        "{added}: {} завершённый невозможный ход {}.",
                        ordinal(n),
                        side_genitive(to.opponent())
                    ),
                }
            }
            (PenaltyKind::Loss, Some(to)) if matches!(o.kind, FlagFall | BothFlags) => {
                let so_far = if o.advice.provisional { ", если" } else { ":" };
                format!(
                    "{} проигрывают партию{so_far} {} ещё могут поставить мат.",
                    player(Some(to.opponent())),
                    side(to)
                )
            }
            (PenaltyKind::Loss, Some(to)) if o.kind == ElectronicDevice => format!(
                "{} проигрывают партию, если регламент соревнования не предусматривает более мягкого наказания.",
                player(Some(to.opponent()))
            ),
            (PenaltyKind::Loss, Some(to)) => {
                let loser = player(Some(to.opponent()));
                match o.offence_number {
                    0 => format!("{loser} проигрывают партию."),
                    n => format!(
                        "{loser} проигрывают партию: {} завершённый невозможный ход.",
                        ordinal(n)
                    ),
                }
            }
            (PenaltyKind::Draw, _) if o.draw_needs_no_mate() => {
                "Партия заканчивается вничью: соперник не может поставить мат никакой серией возможных ходов."
                    .to_owned()
            }
            (PenaltyKind::Draw, _) => "Партия заканчивается вничью.".to_owned(),
            (PenaltyKind::Arbiter, _) => "Правила оставляют наказание на усмотрение арбитра.".to_owned(),
            (PenaltyKind::Time | PenaltyKind::Loss, None) => {
                "Кого это касается, устанавливает арбитр.".to_owned()
            }
            (PenaltyKind::None, _) => "Правила не предусматривают здесь наказания.".to_owned(),
        }
    }

    fn times(&self, o: &Occurrence<'_>, clock: &ClockState) -> String {
        let mut said = format!("Предлагаемое время: {}{}.", faces(clock), origin(o));
        if let Some(other) = &o.advice.clock_alternative {
            said = format!("{said} Либо нынешнее время: {}.", faces(other));
        }
        match o.advice.clock_working.map_or(0, |w| w.move_counter) {
            0 => said,
            n => format!("{said} Счётчик ходов: {n:+}.").replace('-', "\u{2212}"),
        }
    }

    fn origin(&self, o: &Occurrence<'_>) -> String {
        origin(o)
    }

    fn provisional(&self) -> &'static str {
        "Предварительно: ещё проверяется, может ли соперник поставить мат."
    }

    fn mate_undetermined(&self) -> &'static str {
        "Установить, может ли соперник поставить мат, не удалось; решает арбитр."
    }

    fn articles(&self, articles: &[String], edition: Edition) -> String {
        let of = match edition {
            Edition::Laws2023 => "",
            Edition::Laws2018 => " Правил 2018 года",
            Edition::Proposal2017 => " проекта 2017 года",
            Edition::Laws2014 => " Правил 2014 года",
            Edition::Laws1997 => " Правил 1997 года",
        };
        match articles {
            [one] => format!("Статья {one}{of}."),
            many => format!("Статьи {}{of}.", list(many)),
        }
    }

    fn if_confirmed(&self) -> &'static str {
        "Если подтвердится:"
    }

    fn raised_by_system(&self) -> &'static str {
        "Это заметила система, а не человек; решение за арбитром."
    }
}
